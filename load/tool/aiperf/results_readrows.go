package aiperf

import (
	"context"
	"encoding/json"
	"iter"
	"math"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// number is a metric of the request, times in ms.
func (l *line) number(name string) (float64, bool) {
	m, _ := l.Metrics.Get(name)
	return m.number()
}

func (l *line) count(name string) *int {
	m, _ := l.Metrics.Get(name)
	return m.count()
}

// number is false for a metric that is none.
func (m *metric) number() (float64, bool) {
	v, ok := tools.NumberOf(m.Value)
	return v * toMS(m.Unit), ok
}

func (m *metric) count() *int {
	v, ok := m.number()
	if !ok || v < 0 || v > 1e12 {
		return nil
	}
	return new(int(math.Round(v)))
}

// counted is what totals need of a line.
type counted struct {
	Error    *rowError     `json:"error" need:"yes"`
	Metadata metadata      `json:"metadata"`
	Metrics  countedTokens `json:"metrics"`
}

type countedTokens struct {
	FailedIn metric `json:"error_isl" need:"yes"`
	In       metric `json:"input_sequence_length" need:"yes"`
	Mismatch metric `json:"osl_mismatch_diff_pct" need:"yes"`
	Out      metric `json:"output_sequence_length" need:"yes"`
}

// shortOutput is how many percent of the tokens asked for a successful request may lack before it is remarked on.
const shortOutput = 50

// totals are what is known of the requests once all were looked at.
type totals struct {
	n, ok, short int
	first, last  int64 // stamps, wall time in ns
	statuses     map[string]int
	tokens       report.TokenSums
}

// readRows reads the requests; those of the warm-up are no results. Without a summary the counts are those of the rows.
func readRows(ctx context.Context, in *tools.Imported, s *tools.ImportedStage, doc *tools.Document, alone bool) error {
	sessions := tools.Sessions{}
	t := totals{statuses: map[string]int{}}
	for l, err := range tools.Values[counted](doc)(ctx) {
		if err != nil {
			return err
		}
		if l.Metadata.isResult() {
			t.add(&l, sessions)
		}
	}
	if t.n == 0 {
		return nil
	}
	if alone || s.StartNS == 0 {
		s.StartNS, s.EndNS, s.DrainEndNS = t.first, t.last, t.last
		s.WindowStart, s.WindowEnd = t.first, t.last
	}
	if in.AnchorUnixNS == 0 {
		in.AnchorUnixNS = t.first
	}
	s.Rows = rowsOf(doc, in.AnchorUnixNS, in.TokenCountSource, sessions)
	if t.short > 0 {
		in.Note("%d requests that AIPerf counts as successful have at most half of the tokens that were asked for: "+
			"it counts a stream that broke off or brought an error event as success", t.short)
	}
	if alone {
		in.Note("there are only the rows: counts are those of the rows, and rates are theirs over the whole run")
		t.count(s)
	}
	s.Whole = t.ok == s.Counts.ByStatus[report.StatusOK]
	return nil
}

func (t *totals) add(l *counted, sessions tools.Sessions) {
	start := *l.Metadata.Start
	if t.n++; t.n == 1 {
		t.first, t.last = start, start
	}
	t.first = min(t.first, start)
	if end := l.Metadata.End; end != nil {
		t.last = max(t.last, *end)
	}
	row := l.Metadata.row(l.Error, start, sessions)
	t.statuses[row.Status]++
	in := &l.Metrics.In
	if l.Error != nil {
		in = &l.Metrics.FailedIn
	}
	if n := in.count(); n != nil {
		t.tokens.In += int64(*n)
	}
	if row.Status != report.StatusOK {
		return
	}
	t.ok++
	if n := l.Metrics.Out.count(); n != nil {
		t.tokens.Out += int64(*n)
	}
	if missing, known := l.Metrics.Mismatch.number(); known && missing <= -shortOutput {
		t.short++
	}
}

func (t *totals) count(s *tools.ImportedStage) {
	for status, n := range t.statuses {
		s.Counts.ByStatus[status] += n
	}
	s.Counts.Total += t.n
	s.Tokens.In, s.Tokens.Out = s.Tokens.In+t.tokens.In, s.Tokens.Out+t.tokens.Out
	s.Counts.All = s.Counts.Total
	seconds := float64(t.last-t.first) / 1e9
	if ok := s.Counts.ByStatus[report.StatusOK]; ok > 0 && seconds > 0 {
		s.Rates["request_rate"], s.Rates["output_token_rate"] = float64(ok)/seconds, float64(s.Tokens.Out)/seconds
	}
}

func rowsOf(doc *tools.Document, anchor int64, source string, sessions tools.Sessions) tools.ImportedRows {
	return func(ctx context.Context) iter.Seq2[*tools.ImportedRow, error] {
		return func(yield func(*tools.ImportedRow, error) bool) {
			for l, err := range tools.Values[line](doc)(ctx) {
				if err != nil {
					yield(nil, err)
					return
				}
				if !l.Metadata.isResult() {
					continue
				}
				row, gaps := l.row(anchor, sessions)
				row.TokenSource = source
				if !yield(&tools.ImportedRow{Row: row, GapsMS: gaps}, nil) {
					return
				}
			}
		}
	}
}

// isResult is false for a request of the warm-up and for one that was not sent.
func (m *metadata) isResult() bool { return m.Phase != "warmup" && m.Start != nil }

// row turns a request into ours. Stamps of tokens are the start and what the metrics say after it: they are finer than
// the stamps, which are rounded.
func (l *line) row(anchor int64, sessions tools.Sessions) (report.Row, []float64) {
	row := l.Metadata.row(l.Error, anchor, sessions)
	row.TokensIn = l.count("input_sequence_length")
	if l.Error != nil {
		row.TokensIn = l.count("error_isl")
	}
	if row.Status != report.StatusOK {
		return row, nil
	}
	return row, l.answer(&row)
}

// row is a request without what was measured of it.
func (m *metadata) row(failure *rowError, anchor int64, sessions tools.Sessions) report.Row {
	at := func(wall *int64) *int64 {
		if wall == nil {
			return nil
		}
		return new(*wall - anchor)
	}
	send := at(m.Start)
	row := report.Row{ID: m.ID, Session: sessions.Number(m.Conversation), Turn: m.Turn, Phase: report.PhaseMeasured,
		Status: report.StatusOK, TIntended: *send, TSend: send, TFirstByte: at(m.Ack), TEnd: at(m.End)}
	if m.Issued != nil {
		row.TIntended = *m.Issued - anchor
	}
	if failure != nil {
		tools.Fail(&row, failure.Code, failure.Type, failure.Message)
		row.HTTPStatus = failure.Code
	}
	if m.Cancelled {
		row.Status = report.StatusCancelled
		if failure != nil {
			row.ErrorClass = report.ErrCancelled
		}
	}
	return row
}

// answer adds tokens and their stamps and returns the gaps between events in ms.
func (l *line) answer(row *report.Row) []float64 {
	row.TokensOut, row.TokensReasoning = l.count("output_sequence_length"), l.count("reasoning_token_count")
	after := func(name string) *int64 {
		v, ok := l.number(name)
		if !ok || math.Abs(v) > 1e12 {
			return nil
		}
		return new(*row.TSend + int64(math.Round(v*1e6)))
	}
	row.TFirst, row.TContent = after("time_to_first_token"), after("time_to_first_output_token")
	row.TLast = after("request_latency")
	if row.TFirst == nil { // it did not stream: its latency is that of the whole answer
		row.TLast = nil
	} else { // the end that the tool says is the last token: when the terminator came is not known
		row.TEnd = nil
	}
	var gaps []float64
	if m, ok := l.Metrics.Get("inter_chunk_latency"); ok && json.Unmarshal(m.Value, &gaps) == nil && len(gaps) > 0 {
		factor := toMS(m.Unit)
		for i := range gaps {
			gaps[i] *= factor
		}
		tools.SetGaps(row, gaps)
	}
	return gaps
}

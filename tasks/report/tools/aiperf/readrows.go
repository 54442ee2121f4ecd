package aiperf

import (
	"encoding/json"
	"math"
	"slices"

	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/report/tools"
)

// line is one request. Its stamps are wall time in ns.
type line struct {
	Metadata struct {
		ID           string `json:"x_request_id"`
		Conversation string `json:"conversation_id"`
		Turn         int    `json:"turn_index"`
		Issued       *int64 `json:"credit_issued_ns"`
		Start        *int64 `json:"request_start_ns"`
		Ack          *int64 `json:"request_ack_ns"`
		End          *int64 `json:"request_end_ns"`
		Phase        string `json:"benchmark_phase"`
		Cancelled    bool   `json:"was_cancelled"`
	} `json:"metadata"`
	Metrics map[string]struct {
		Value json.RawMessage `json:"value"`
		Unit  string          `json:"unit"`
	} `json:"metrics"`
	Error *struct {
		Code    *int   `json:"code"`
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

// number is a metric of the request, times in ms.
func (l *line) number(name string) (float64, bool) {
	m, ok := l.Metrics[name]
	var v *float64
	if !ok || json.Unmarshal(m.Value, &v) != nil || v == nil || math.IsNaN(*v) {
		return 0, false
	}
	return *v * toMS(m.Unit), true
}

func (l *line) count(name string) *int {
	v, ok := l.number(name)
	if !ok || v < 0 || v > 1e12 {
		return nil
	}
	n := int(math.Round(v))
	return &n
}

// shortOutput is how many percent of the tokens asked for a successful request may lack before it is remarked on.
const shortOutput = 50

// readRows reads the requests; those of the warm-up are no results. Without a summary the counts are those of the rows.
func readRows(in *tools.Imported, s *tools.ImportedStage, doc tools.Document, alone bool) error {
	lines, err := tools.DecodeLines[line](doc)
	if err != nil {
		return err
	}
	lines = slices.DeleteFunc(lines, func(l line) bool { return l.Metadata.Phase == "warmup" || l.Metadata.Start == nil })
	if len(lines) == 0 {
		return nil
	}
	first, last := *lines[0].Metadata.Start, *lines[0].Metadata.Start
	for i := range lines {
		first = min(first, *lines[i].Metadata.Start)
		if end := lines[i].Metadata.End; end != nil {
			last = max(last, *end)
		}
	}
	if alone || s.StartNS == 0 {
		s.StartNS, s.EndNS, s.DrainEndNS, s.WindowStart, s.WindowEnd = first, last, last, first, last
	}
	if in.AnchorUnixNS == 0 {
		in.AnchorUnixNS = first
	}
	sessions, ok, short := map[string]int{}, 0, 0
	for i := range lines {
		row, gaps := lines[i].row(in.AnchorUnixNS, sessions)
		row.TokenSource = in.TokenCountSource
		s.Rows = append(s.Rows, row)
		if row.Status == report.StatusOK {
			ok++
			s.Gaps = append(s.Gaps, gaps...)
			if missing, known := lines[i].number("osl_mismatch_diff_pct"); known && missing <= -shortOutput {
				short++
			}
		}
	}
	if short > 0 {
		in.Note("%d requests that AIPerf counts as successful have at most half of the tokens that were asked for: it counts a stream that broke off or brought an error event as success", short)
	}
	if alone {
		in.Note("there are only the rows: counts are those of the rows, and rates are theirs over the whole run")
		countRows(s, float64(last-first)/1e9)
	}
	s.Whole = ok == s.Counts.ByStatus[report.StatusOK]
	return nil
}

func countRows(s *tools.ImportedStage, seconds float64) {
	for i := range s.Rows {
		s.Counts.ByStatus[s.Rows[i].Status]++
		s.Counts.Total++
		if n := s.Rows[i].TokensOut; n != nil {
			s.Tokens.Out += int64(*n)
		}
		if n := s.Rows[i].TokensIn; n != nil {
			s.Tokens.In += int64(*n)
		}
	}
	s.Counts.All = s.Counts.Total
	if ok := s.Counts.ByStatus[report.StatusOK]; ok > 0 && seconds > 0 {
		s.Rates["request_rate"], s.Rates["output_token_rate"] = float64(ok)/seconds, float64(s.Tokens.Out)/seconds
	}
}

// row turns a request into ours. Stamps of tokens are the start and what the metrics say after it: they are finer than
// the stamps, which are rounded.
func (l *line) row(anchor int64, sessions map[string]int) (report.Row, []float64) {
	m := &l.Metadata
	at := func(wall *int64) *int64 {
		if wall == nil {
			return nil
		}
		ns := *wall - anchor
		return &ns
	}
	if _, ok := sessions[m.Conversation]; !ok {
		sessions[m.Conversation] = len(sessions)
	}
	send := at(m.Start)
	row := report.Row{ID: m.ID, Session: sessions[m.Conversation], Turn: m.Turn, Phase: report.PhaseMeasured, Status: report.StatusOK,
		TIntended: *send, TSend: send, TFirstByte: at(m.Ack), TEnd: at(m.End), TokensIn: l.count("input_sequence_length")}
	if m.Issued != nil {
		row.TIntended = *m.Issued - anchor
	}
	switch {
	case l.Error != nil:
		code := 0
		if l.Error.Code != nil {
			code = *l.Error.Code
		}
		row.ErrorClass, row.Status = tools.Classify(code, l.Error.Type, l.Error.Message)
		row.Error, row.HTTPStatus = tools.Brief(l.Error.Message), code
		row.TokensIn = l.count("error_isl")
		if m.Cancelled {
			row.Status, row.ErrorClass = report.StatusCancelled, report.ErrCancelled
		}
		return row, nil
	case m.Cancelled:
		row.Status = report.StatusCancelled
		return row, nil
	}
	return row, l.answer(&row)
}

// answer adds tokens and their stamps and returns the gaps between events in ms.
func (l *line) answer(row *report.Row) []float64 {
	row.TokensOut, row.TokensReasoning = l.count("output_sequence_length"), l.count("reasoning_token_count")
	after := func(name string) *int64 {
		v, ok := l.number(name)
		if !ok || math.Abs(v) > 1e12 {
			return nil
		}
		ns := *row.TSend + int64(math.Round(v*1e6))
		return &ns
	}
	row.TFirst, row.TContent, row.TLast = after("time_to_first_token"), after("time_to_first_output_token"), after("request_latency")
	if row.TFirst == nil { // it did not stream: its latency is that of the whole answer
		row.TLast = nil
	} else { // the end that the tool says is the last token: when the terminator came is not known
		row.TEnd = nil
	}
	var gaps []float64
	if m, ok := l.Metrics["inter_chunk_latency"]; ok && json.Unmarshal(m.Value, &gaps) == nil && len(gaps) > 0 {
		factor := toMS(m.Unit)
		for i := range gaps {
			gaps[i] *= factor
		}
		tools.SetGaps(row, gaps)
	}
	return gaps
}

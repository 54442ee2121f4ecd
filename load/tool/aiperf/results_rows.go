package aiperf

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// requests are the requests of a stage, each overwritten by the next.
func requests(m *tools.Measurement, s *tools.Stage) tools.Stream[*line] {
	return func(ctx context.Context) iter.Seq2[*line, error] {
		return func(yield func(*line, error) bool) {
			w := newLineWriter(m.Header.AnchorUnixNS)
			n := -1
			for r, err := range s.Requests.All(ctx) {
				if err != nil {
					yield(nil, err)
					return
				}
				if n++; r.Status == report.StatusDropped {
					continue // never sent: the tool has no row for it
				}
				if !yield(w.lineOf(n, r), nil) {
					return
				}
			}
		}
	}
}

// lineWriter makes lines of rows. It has one line, which each row overwrites.
type lineWriter struct {
	anchor  int64 // wall time of the zero of the rows, unix ns
	metrics []numbered
	line    line
	failure rowError
	stamps  struct{ issued, ack, start, end int64 } // of the line
	values  []byte                                  // of the metrics of the line
}

// numbered is a metric with the number that rows have of it; without one it is the gaps between events.
type numbered struct {
	tag
	number tools.Number
}

func newLineWriter(anchor int64) *lineWriter {
	w := &lineWriter{anchor: anchor, line: line{Metrics: tools.Members[metric]{}}}
	all := numbers()
	all["second"] = func(r *report.Row) (float64, bool) {
		if len(r.Gaps) == 0 {
			return 0, false
		}
		return float64(r.Gaps[0]) / 1e3, true
	}
	for _, t := range append(tags(), tag{name: "time_to_second_token", unit: "ms", metric: "second"}) {
		w.metrics = append(w.metrics, numbered{t, all[t.metric]})
	}
	slices.SortFunc(w.metrics, func(a, b numbered) int { return strings.Compare(a.name, b.name) })
	return w
}

// lineOf is the line of a row, the n-th of its stage.
func (w *lineWriter) lineOf(n int, r *report.Row) *line {
	w.line.Metadata, w.line.Error = w.metadata(n, r), nil
	w.line.Metrics, w.values = w.line.Metrics[:0], w.values[:0]
	if r.Status == report.StatusOK {
		w.setMetrics(r)
		return &w.line
	}
	if r.TokensIn != nil { // all that the tool has of a request that did not end well
		w.setMetric("error_isl", "tokens", float64(*r.TokensIn))
	}
	w.failure = failureOf(r)
	w.line.Error = &w.failure
	return &w.line
}

func (w *lineWriter) metadata(n int, r *report.Row) metadata {
	at := &w.stamps
	at.issued, at.start = w.anchor+r.TIntended, w.anchor+r.TIntended
	if r.TSend != nil {
		at.start = w.anchor + *r.TSend
	}
	at.end = at.start
	if end := cmp.Or(r.TEnd, r.TLast, r.TFirst); end != nil {
		at.end = w.anchor + *end
	}
	m := metadata{Phase: "profiling", Conversation: strconv.Itoa(r.Session), Issued: &at.issued, PhaseKind: "profiling",
		PhaseName: "profiling", RecordProcessorID: "load-gen", End: &at.end, Start: &at.start, RootCorrelationID: r.ID,
		SessionNum: n, Turn: r.Turn, Cancelled: r.Status == report.StatusCancelled, WorkerID: "load-gen",
		CorrelationID: r.ID, ID: r.ID}
	if r.TFirstByte != nil {
		at.ack = w.anchor + *r.TFirstByte
		m.Ack = &at.ack
	}
	if m.Cancelled {
		m.CancelledNS = &at.end
	}
	return m
}

func (w *lineWriter) setMetrics(r *report.Row) {
	for _, m := range w.metrics {
		if m.number == nil {
			w.setGaps(m.tag, tools.GapsMS(r))
		} else if v, ok := m.number(r); ok {
			w.setMetric(m.name, m.unit, v)
		}
	}
}

func (w *lineWriter) setMetric(name, unit string, v float64) {
	from := len(w.values)
	w.values = tools.AppendNumber(w.values, v)
	w.add(name, unit, from)
}

func (w *lineWriter) setGaps(t tag, gaps []float64) {
	if gaps == nil {
		return
	}
	from := len(w.values)
	separator := byte('[')
	for _, v := range gaps {
		w.values = tools.AppendNumber(append(w.values, separator), v)
		separator = ','
	}
	w.values = append(w.values, ']')
	w.add(t.name, t.unit, from)
}

// add adds a metric whose value begins at a byte of the values.
func (w *lineWriter) add(name, unit string, from int) {
	w.line.Metrics = append(w.line.Metrics,
		tools.Member[metric]{Name: name, Value: metric{Unit: unit, Value: w.values[from:]}})
}

func failureOf(r *report.Row) rowError {
	e := rowError{Type: r.ErrorClass, Message: r.Error}
	if e.Type == "" {
		e.Type = r.Status
	}
	if r.HTTPStatus >= 400 {
		e.Code = r.HTTPStatus
	}
	return e
}

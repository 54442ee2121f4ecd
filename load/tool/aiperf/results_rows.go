package aiperf

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"strconv"

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

// numbered is a metric with the number that rows have of it.
type numbered struct {
	tag
	number tools.Number
}

func newLineWriter(anchor int64) *lineWriter {
	w := &lineWriter{anchor: anchor, line: line{Metrics: map[string]metric{}}}
	all := numbers()
	for _, t := range tags() {
		if n := all[t.metric]; n != nil {
			w.metrics = append(w.metrics, numbered{t, n})
		}
	}
	return w
}

// lineOf is the line of a row, the n-th of its stage.
func (w *lineWriter) lineOf(n int, r *report.Row) *line {
	w.line.Metadata, w.line.Error = w.metadata(n, r), nil
	clear(w.line.Metrics)
	w.values = w.values[:0]
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
		if v, ok := m.number(r); ok {
			w.setMetric(m.name, m.unit, v)
		}
	}
	if gaps := tools.GapsMS(r); gaps != nil {
		w.setMetric("time_to_second_token", "ms", gaps[0])
		w.setList("inter_chunk_latency", "ms", gaps)
	}
}

func (w *lineWriter) setMetric(name, unit string, v float64) {
	from := len(w.values)
	w.values = appendNumber(w.values, v)
	w.line.Metrics[name] = metric{Unit: unit, Value: w.values[from:]}
}

func (w *lineWriter) setList(name, unit string, list []float64) {
	from := len(w.values)
	separator := byte('[')
	for _, v := range list {
		w.values = appendNumber(append(w.values, separator), v)
		separator = ','
	}
	w.values = append(w.values, ']')
	w.line.Metrics[name] = metric{Unit: unit, Value: w.values[from:]}
}

// appendNumber appends a number as encoding/json writes it. NaN and infinity are no JSON: the line cannot be written.
func appendNumber(b []byte, v float64) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	return append(b, text...)
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

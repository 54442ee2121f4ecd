package vllmbench

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// rowReader makes rows of the lists of a result. Their times are on a monotonic clock, put at the start of the run.
type rowReader struct {
	lists
	doc    *tools.Document
	n      int
	first  float64 // the least start
	offset float64 // of the stage from the start of the run
}

// readRows reads the lists where the file has them.
func (r *result) readRows(ctx context.Context, in *tools.Imported, doc *tools.Document, s *tools.ImportedStage) error {
	l := &rowReader{lists: r.lists, doc: doc, n: doc.Len("output_lens"), first: math.Inf(1),
		offset: float64(s.StartNS-in.AnchorUnixNS) / 1e9}
	if l.n == 0 || doc.Len("ttfts") != l.n {
		return nil
	}
	for _, name := range []string{"input_lens", "itls", "latencies", "start_times", "queue_times", "errors"} {
		if have := doc.Len(name); have != 0 && have != l.n {
			return tools.Malformed("reading %q: %s: it has %d entries, output_lens has %d", doc.Path, name, have, l.n)
		}
	}
	if err := l.findFirst(ctx); err != nil {
		return err
	}
	ok, ends, role := 0, true, newRole()
	for row, err := range l.rows(ctx) {
		if err != nil {
			return err
		}
		if row.Status == report.StatusOK {
			ok++
			ends = ends && row.TLast != nil
		}
		role.add(row.GapsMS)
	}
	s.Rows = l.rows
	s.Whole = ok == s.Counts.ByStatus[report.StatusOK] && ends
	if l.StartTimes == nil {
		in.Note("%s: the file says no start of requests: all are put at the start of the run", s.Planned.Name)
	}
	role.suspect(in, s)
	return nil
}

func (l *rowReader) findFirst(ctx context.Context) error {
	if l.StartTimes == nil {
		return nil
	}
	for t, err := range l.StartTimes(ctx) {
		if err != nil {
			return err
		}
		if t != nil {
			l.first = min(l.first, *t)
		}
	}
	return nil
}

// request is what the lists say of one request; nil is what a list does not.
type request struct {
	in, out, ttft, latency, start, wait *float64
	gaps                                []*float64
	failure                             *string
}

// column reads a list one element at a time.
type column interface {
	next() error
	stop()
}

// columnOf is a list whose elements go to one place.
type columnOf[T any] struct {
	pull func() (T, error, bool)
	end  func()
	to   *T
}

func (c columnOf[T]) next() error {
	element, err, _ := c.pull() // the zero value behind the last one
	*c.to = element
	return err
}

func (c columnOf[T]) stop() { c.end() }

// open returns a column of a list, of none where it is nil.
func open[T any](ctx context.Context, list tools.Stream[T], to *T) column {
	if list == nil {
		list = tools.StreamOf[T](nil)
	}
	pull, end := iter.Pull2(list(ctx))
	return columnOf[T]{pull: pull, end: end, to: to}
}

// rows walks over all lists side by side.
func (l *rowReader) rows(ctx context.Context) iter.Seq2[*tools.ImportedRow, error] {
	return func(yield func(*tools.ImportedRow, error) bool) {
		var r request
		columns := []column{open(ctx, l.InputLens, &r.in), open(ctx, l.OutputLens, &r.out), open(ctx, l.TTFTs, &r.ttft),
			open(ctx, l.Latency, &r.latency), open(ctx, l.StartTimes, &r.start), open(ctx, l.QueueTimes, &r.wait),
			open(ctx, l.ITLs, &r.gaps), open(ctx, l.Errors, &r.failure)}
		defer func() {
			for _, c := range columns {
				c.stop()
			}
		}()
		for i := range l.n {
			var failed error
			for _, c := range columns {
				failed = errors.Join(failed, c.next())
			}
			row, fits := r.row(i, l)
			if failed == nil && !fits {
				failed = tools.Malformed("reading %q: entry %d of the lists: its times are none of a run", l.doc.Path, i)
			}
			if !yield(row, failed) || failed != nil {
				return
			}
		}
	}
}

// known is a number and whether there is one.
func known(v *float64) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return *v, true
}

func (r *request) gapsInS() []float64 {
	var out []float64
	for _, g := range r.gaps {
		if g != nil {
			out = append(out, *g)
		}
	}
	return out
}

// row is request i. A failed one has an error text; old files have ttft 0 and no output alone.
func (r *request) row(i int, l *rowReader) (*tools.ImportedRow, bool) {
	start := l.offset
	if t, ok := known(r.start); ok {
		start += t - l.first
	}
	send, ok := tools.Since(0, start)
	if !ok {
		return nil, false
	}
	row := &tools.ImportedRow{Row: report.Row{ID: fmt.Sprintf("request-%d", i), Session: i, Phase: report.PhaseMeasured,
		Status: report.StatusOK, TIntended: send, TSend: &send, TokenSource: "usage"}}
	if wait, ok := known(r.wait); ok && wait > 0 && wait < 1e7 {
		row.QueueWait = int64(wait * 1e9)
		row.TIntended -= row.QueueWait
	}
	if v, ok := known(r.in); ok && v >= 0 && v < 1e12 {
		row.TokensIn = new(int(v))
	}
	out, _ := known(r.out)
	ttft, _ := known(r.ttft)
	if r.failure != nil && *r.failure != "" || out == 0 && ttft == 0 {
		row.Status, row.ErrorClass = report.StatusFailed, report.ErrBadPayload
		if r.failure != nil {
			tools.Fail(&row.Row, 0, "", *r.failure)
		}
		return row, true
	}
	row.TokensOut = new(int(min(1e12, max(0, out))))
	return row, r.answer(row, start, ttft, l.ITLs != nil)
}

// answer adds the stamps of an answer: its end is its latency, in older files ttft and the gaps.
func (r *request) answer(row *tools.ImportedRow, start, ttft float64, hasGaps bool) bool {
	gaps, took := r.gapsInS(), ttft
	for _, g := range gaps {
		took += g
	}
	latency, said := known(r.latency)
	if !said {
		latency = took
	}
	firstNS, ok1 := tools.Since(0, start+ttft)
	lastNS, ok2 := tools.Since(0, start+latency)
	if !ok1 || !ok2 {
		return false
	}
	if ttft > 0 {
		row.TFirst, row.TContent = &firstNS, &firstNS
	}
	if said || hasGaps {
		row.TLast = &lastNS
	}
	if row.TLast == nil && row.TokensOut != nil && *row.TokensOut == 1 {
		row.TLast = row.TFirst
	}
	row.GapsMS = make([]float64, len(gaps))
	for j, g := range gaps {
		row.GapsMS[j] = g * 1e3
	}
	tools.SetGaps(&row.Row, row.GapsMS)
	return true
}

// role collects the first gaps of requests and the others, in ms.
type role struct{ firsts, others *report.Distribution }

func newRole() role { return role{report.NewDistribution("ms"), report.NewDistribution("ms")} }

func (r role) add(gaps []float64) {
	if len(gaps) > 1 {
		r.firsts.Add(gaps[0])
		r.others.AddAll(gaps[1:])
	}
}

// suspect says when the first gap is so much longer than the others that it is the prefill: ttft was then taken at
// the chunk with the role. It is flagged and not repaired.
func (r role) suspect(in *tools.Imported, s *tools.ImportedStage) {
	a, _ := r.firsts.Percentile(50)
	b, _ := r.others.Percentile(50)
	if b > 0 && a > 3*b {
		in.Note("%s: the first gap of a request is %.1f ms in the middle, the others %.1f ms: "+
			"ttft was taken at the chunk with the role and is too low", s.Planned.Name, a, b)
		s.Checks = append(s.Checks, report.Check{Name: "first_gap_ratio", Value: a / b, Limit: 3, Reason: "token_mismatch",
			Note: true, Text: "ttft was taken at the chunk with the role"})
	}
}

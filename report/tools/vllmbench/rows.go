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

// lists are those of the requests of a detailed file; index i of each is one request. Times are s on a monotonic clock,
// put at the start of the run.
type lists struct {
	doc    *tools.Document
	n      int
	first  float64 // the least start
	offset float64 // of the stage from the start of the run
}

// readLists reads the lists where the file has them.
func readLists(ctx context.Context, in *tools.Imported, doc *tools.Document, s *tools.ImportedStage) error {
	l := &lists{doc: doc, n: doc.Len("output_lens"), first: math.Inf(1), offset: float64(s.StartNS-in.AnchorUnixNS) / 1e9}
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
	if doc.Len("start_times") == 0 {
		in.Note("%s: the file says no start of requests: all are put at the start of the run", s.Planned.Name)
	}
	role.suspect(in, s)
	return nil
}

func (l *lists) findFirst(ctx context.Context) error {
	i := 0
	for element, err := range l.doc.Each(ctx, "start_times") {
		var t *float64
		if err == nil {
			err = tools.DecodeElement(l.doc, "start_times", i, element, &t)
		}
		if err != nil {
			return err
		}
		if t != nil {
			l.first = min(l.first, *t)
		}
		i++
	}
	return nil
}

// request is what the lists say of one request; nil is what a list does not.
type request struct {
	in, out, ttft, latency, start, wait *float64
	gaps                                []*float64
	failure                             *string
}

// rows walks over all lists side by side.
func (l *lists) rows(ctx context.Context) iter.Seq2[*tools.ImportedRow, error] {
	return func(yield func(*tools.ImportedRow, error) bool) {
		names := []string{"input_lens", "output_lens", "ttfts", "latencies", "start_times", "queue_times", "itls", "errors"}
		next := make([]func() (tools.Element, error, bool), len(names))
		for i, name := range names {
			var stop func()
			next[i], stop = iter.Pull2(l.doc.Each(ctx, name))
			defer stop()
		}
		for i := range l.n {
			var r request
			into := []any{&r.in, &r.out, &r.ttft, &r.latency, &r.start, &r.wait, &r.gaps, &r.failure}
			var failed error
			for k, name := range names {
				element, err, more := next[k]()
				if err == nil && more {
					err = tools.DecodeElement(l.doc, name, i, element, into[k])
				}
				failed = errors.Join(failed, err)
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
func (r *request) row(i int, l *lists) (*tools.ImportedRow, bool) {
	start := l.offset
	if t, ok := known(r.start); ok {
		start += t - l.first
	}
	send, ok := tools.Since(0, start)
	if !ok {
		return nil, false
	}
	row := &tools.ImportedRow{Row: report.Row{ID: fmt.Sprintf("request-%d", i), Session: i, Phase: report.PhaseMeasured, Status: report.StatusOK,
		TIntended: send, TSend: &send, TokenSource: "usage"}}
	if wait, ok := known(r.wait); ok && wait > 0 && wait < 1e7 {
		row.QueueWait = int64(wait * 1e9)
		row.TIntended -= row.QueueWait
	}
	if v, ok := known(r.in); ok && v >= 0 && v < 1e12 {
		n := int(v)
		row.TokensIn = &n
	}
	out, _ := known(r.out)
	ttft, _ := known(r.ttft)
	if r.failure != nil && *r.failure != "" || out == 0 && ttft == 0 {
		row.Status, row.ErrorClass = report.StatusFailed, report.ErrBadPayload
		if r.failure != nil {
			row.ErrorClass, row.Status = tools.Classify(0, *r.failure)
			row.Error = tools.Brief(*r.failure)
		}
		return row, true
	}
	n := int(min(1e12, max(0, out)))
	row.TokensOut = &n
	return row, r.answer(row, start, ttft, l.doc.Len("itls") > 0)
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
		in.Note("%s: the first gap of a request is %.1f ms in the middle, the others %.1f ms: ttft was taken at the chunk with the role and is too low", s.Planned.Name, a, b)
		s.Checks = append(s.Checks, report.Check{Name: "first_gap_ratio", Value: a / b, Limit: 3, Reason: "token_mismatch", Note: true,
			Text: "ttft was taken at the chunk with the role"})
	}
}

package vllmbench

import (
	"fmt"
	"math"
	"slices"

	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/report/tools"
)

// rows reads the lists of a detailed file; index i is one request. Times are s on a monotonic clock, put at the start
// of the run.
func (f *file) rows(in *tools.Imported, doc tools.Document, s *tools.ImportedStage) error {
	n := len(f.OutputLens)
	if n == 0 || len(f.TTFTs) != n {
		return nil
	}
	for name, have := range map[string]int{"input_lens": len(f.InputLens), "itls": len(f.ITLs), "latencies": len(f.Latencies),
		"start_times": len(f.Starts), "queue_times": len(f.Waits), "errors": len(f.Errors)} {
		if have != 0 && have != n {
			return fmt.Errorf("reading %q: %s: it has %d entries, output_lens has %d", doc.Path, name, have, n)
		}
	}
	first := math.Inf(1)
	for _, t := range f.Starts {
		if t != nil {
			first = min(first, *t)
		}
	}
	offset, ends := float64(s.StartNS-in.AnchorUnixNS)/1e9, true
	for i := range n {
		row, ok := f.row(i, first, offset)
		if !ok {
			return fmt.Errorf("reading %q: entry %d of the lists: its times are none of a run", doc.Path, i)
		}
		row.Session = i
		ends = ends && (row.Status != report.StatusOK || row.TLast != nil)
		s.Rows = append(s.Rows, row)
		if row.Status == report.StatusOK {
			for _, g := range f.gaps(i) {
				s.Gaps = append(s.Gaps, g*1e3)
			}
		}
	}
	ok := 0
	for i := range s.Rows {
		if s.Rows[i].Status == report.StatusOK {
			ok++
		}
	}
	s.Whole = ok == s.Counts.ByStatus[report.StatusOK] && ends
	if len(f.Starts) == 0 {
		in.Note("%s: the file says no start of requests: all are put at the start of the run", s.Planned.Name)
	}
	f.suspectRole(in, s)
	return nil
}

func at(list []*float64, i int) (float64, bool) {
	if i >= len(list) || list[i] == nil {
		return 0, false
	}
	return *list[i], true
}

func (f *file) gaps(i int) []float64 {
	if i >= len(f.ITLs) {
		return nil
	}
	var out []float64
	for _, g := range f.ITLs[i] {
		if g != nil {
			out = append(out, *g)
		}
	}
	return out
}

// row is request i. A failed one has an error text; old files have ttft 0 and no output alone.
func (f *file) row(i int, first, offset float64) (report.Row, bool) {
	start := offset
	if t, ok := at(f.Starts, i); ok {
		start += t - first
	}
	stamp := func(t float64) (*int64, bool) { ns, ok := tools.Since(0, t); return &ns, ok }
	send, ok := stamp(start)
	if !ok {
		return report.Row{}, false
	}
	row := report.Row{ID: fmt.Sprintf("request-%d", i), Phase: report.PhaseMeasured, Status: report.StatusOK, TIntended: *send, TSend: send, TokenSource: "usage"}
	if wait, ok := at(f.Waits, i); ok && wait > 0 && wait < 1e7 {
		row.QueueWait = int64(wait * 1e9)
		row.TIntended -= row.QueueWait
	}
	if v, ok := at(f.InputLens, i); ok && v >= 0 && v < 1e12 {
		n := int(v)
		row.TokensIn = &n
	}
	out, _ := at(f.OutputLens, i)
	ttft, _ := at(f.TTFTs, i)
	if i < len(f.Errors) && f.Errors[i] != nil && *f.Errors[i] != "" || out == 0 && ttft == 0 {
		row.Status, row.ErrorClass = report.StatusFailed, report.ErrBadPayload
		if i < len(f.Errors) && f.Errors[i] != nil {
			row.ErrorClass, row.Status = tools.Classify(0, *f.Errors[i])
			row.Error = tools.Brief(*f.Errors[i])
		}
		return row, true
	}
	n := int(min(1e12, max(0, out)))
	row.TokensOut = &n
	return f.answer(row, i, start, ttft)
}

// answer adds the stamps of an answer: its end is its latency, in older files ttft and the gaps.
func (f *file) answer(row report.Row, i int, start, ttft float64) (report.Row, bool) {
	gaps, took := f.gaps(i), ttft
	for _, g := range gaps {
		took += g
	}
	latency, known := at(f.Latencies, i)
	if !known {
		latency = took
	}
	firstNS, ok1 := tools.Since(0, start+ttft)
	lastNS, ok2 := tools.Since(0, start+latency)
	if !ok1 || !ok2 {
		return row, false
	}
	if ttft > 0 {
		row.TFirst, row.TContent = &firstNS, &firstNS
	}
	if known || len(f.ITLs) > 0 {
		row.TLast = &lastNS
	}
	if row.TLast == nil && row.TokensOut != nil && *row.TokensOut == 1 {
		row.TLast = row.TFirst
	}
	ms := make([]float64, len(gaps))
	for j, g := range gaps {
		ms[j] = g * 1e3
	}
	tools.SetGaps(&row, ms)
	return row, true
}

// suspectRole says when the first gap is so much longer than the others that it is the prefill: ttft was then taken at
// the chunk with the role. It is flagged and not repaired.
func (f *file) suspectRole(in *tools.Imported, s *tools.ImportedStage) {
	var firsts, others []float64
	for i := range f.ITLs {
		if g := f.gaps(i); len(g) > 1 {
			firsts, others = append(firsts, g[0]), append(others, g[1:]...)
		}
	}
	if len(firsts) == 0 {
		return
	}
	slices.Sort(firsts)
	slices.Sort(others)
	a, b := report.Percentile(firsts, 50), report.Percentile(others, 50)
	if b > 0 && a > 3*b {
		in.Note("%s: the first gap of a request is %.1f ms in the middle, the others %.1f ms: ttft was taken at the chunk with the role and is too low", s.Planned.Name, a*1e3, b*1e3)
		s.Checks = append(s.Checks, report.Check{Name: "first_gap_ratio", Value: a / b, Limit: 3, Reason: "token_mismatch", Note: true,
			Text: "ttft was taken at the chunk with the role"})
	}
}

package record

import (
	"time"

	"bflow.dev/bflow/report"
)

// slicer cuts a stage into slices of time. Outcomes come in order of their intended send, so that the values of one
// slice are in memory at a time.
type slicer struct {
	start, length int64
	slices        []slice
	at            int                             // slice at hand
	values        map[string]*report.Distribution // of it
}

// slice is what is kept of each.
type slice struct {
	requests, sent, done, errors int
	tokens                       float64
	metrics                      map[string]report.Metric
}

// newSlicer cuts [start, end) into slices of length; nil without a length. What comes later belongs to the last.
func newSlicer(start, end int64, length time.Duration) *slicer {
	if length <= 0 {
		return nil
	}
	n := min(maxSeconds, max(1, (end-start+int64(length)-1)/int64(length)))
	s := &slicer{start: start, length: int64(length), slices: make([]slice, n), values: map[string]*report.Distribution{}}
	for _, metric := range []string{"ttft", "itl", "e2e"} {
		s.values[metric] = report.NewDistribution(report.Unit(metric))
	}
	return s
}

func (s *slicer) of(at int64) *slice {
	return &s.slices[min(max(0, int((at-s.start)/s.length)), len(s.slices)-1)]
}

func (s *slicer) add(o *Outcome) {
	if s == nil {
		return
	}
	if at := min(max(0, int((o.Intended-s.start)/s.length)), len(s.slices)-1); at != s.at {
		s.turn(at)
	}
	s.slices[s.at].requests++
	if o.Send >= 0 {
		s.of(o.Send).sent++
	}
	switch o.Status {
	case report.StatusOK:
		s.of(o.End).done++
		s.ok(o)
	case report.StatusFailed, report.StatusTimeout, report.StatusEmpty:
		s.of(o.End).errors++
	case report.StatusDropped:
		s.of(o.Intended).errors++
	}
	each := tokensPer(o)
	if o.Send >= 0 {
		eachArrival(o, func(at, k int64) { s.of(at).tokens += float64(k) * each })
	}
}

func (s *slicer) ok(o *Outcome) {
	s.values["e2e"].Add(ms(o.End - o.Send))
	if o.First >= 0 {
		s.values["ttft"].Add(ms(o.First - o.Send))
	}
	for _, g := range o.Gaps {
		s.values["itl"].Add(ms(1000 * int64(g)))
	}
}

// turn ends the slice at hand and begins another.
func (s *slicer) turn(to int) {
	metrics := map[string]report.Metric{}
	for name, d := range s.values {
		if m, ok := d.Metric(); ok {
			metrics[name] = m
		}
		d.Reset(d.Unit(), 0)
	}
	s.slices[s.at].metrics, s.at = metrics, to
}

// write writes the slices.
func (s *slicer) write(in *Stage, w *report.SliceWriter) error {
	if s == nil {
		return nil
	}
	s.turn(s.at)
	for i, c := range s.slices {
		start := in.AnchorUnixNS + s.start + int64(i)*s.length
		seconds := float64(s.length) / 1e9
		err := w.Write(&report.Slice{Sample: in.Sample, Stage: in.Index, Slice: i, StartNS: start, EndNS: start + s.length,
			Requests: c.requests, Sent: c.sent, Done: c.done, Errors: c.errors, Metrics: c.metrics,
			Rates: map[string]float64{"request_rate": float64(c.done) / seconds, "achieved_rate": float64(c.sent) / seconds,
				"output_token_rate": c.tokens / seconds}})
		if err != nil {
			return err
		}
	}
	return nil
}

package record

import (
	"math"
	"slices"

	"bflow.dev/bflow/tasks/report"
)

// series is a stage second by second.
type series struct {
	start   int64
	seconds []report.Second
	tokens  []float64
	ttft    [][]float64
}

// maxSeconds bounds the series: a day.
const maxSeconds = 24 * 3600

func newSeries(start, end int64) *series {
	n := min(maxSeconds, max(1, int((end-start+999_999_999)/1e9)))
	return &series{start: start, seconds: make([]report.Second, n), tokens: make([]float64, n), ttft: make([][]float64, n)}
}

// place returns the second of a stamp, the last for what comes later.
func (s *series) place(at int64) int {
	return min(max(0, int((at-s.start)/1e9)), len(s.seconds)-1)
}

func (s *series) add(o *Outcome) {
	if o.Status == report.StatusDropped {
		s.seconds[s.place(o.Intended)].Errors++
	}
	if o.Send < 0 {
		if o.Status == report.StatusFailed {
			s.seconds[s.place(o.End)].Errors++
		}
		return
	}
	s.seconds[s.place(o.Send)].Sent++
	switch o.Status {
	case report.StatusOK:
		s.seconds[s.place(o.End)].Done++
	case report.StatusFailed, report.StatusTimeout, report.StatusEmpty:
		s.seconds[s.place(o.End)].Errors++
	}
	if o.First >= 0 {
		at := s.place(o.First)
		s.ttft[at] = append(s.ttft[at], ms(o.First-o.Send))
	}
	each := tokensPer(o)
	arrivals(o, func(at, k int64) { s.tokens[s.place(at)] += float64(k) * each })
	s.occupy(o.Send, ended(o, s.start+int64(len(s.seconds))*1e9))
}

// occupy adds a request in flight from send to end to each second's mean.
func (s *series) occupy(send, end int64) {
	for i := s.place(send); i < len(s.seconds); i++ {
		from := s.start + int64(i)*1e9
		if from >= end {
			return
		}
		s.seconds[i].InFlight += float64(min(end, from+1e9)-max(send, from)) / 1e9
	}
}

func (s *series) finish() []report.Second {
	for i := range s.seconds {
		second := &s.seconds[i]
		second.TokensOut = int(math.Round(s.tokens[i]))
		if values := s.ttft[i]; len(values) > 0 {
			slices.Sort(values)
			second.TTFTP50, second.TTFTP99 = report.Percentile(values, 50), report.Percentile(values, 99)
		}
	}
	return s.seconds
}

package record

import (
	"math"

	"bflow.dev/bflow/report"
)

// series is a stage second by second.
type series struct {
	start   int64
	seconds []report.Second
	tokens  []float64
	ttft    column[uint64] // second and nanoseconds in one number
}

// maxSeconds bounds the series: a day.
const maxSeconds = 24 * 3600

func newSeries(start, end int64, s *store) *series {
	n := min(maxSeconds, max(1, int((end-start+999_999_999)/1e9)))
	return &series{
		start: start, seconds: make([]report.Second, n), tokens: make([]float64, n), ttft: column[uint64]{store: s},
	}
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
		s.ttft.add(uint64(s.place(o.First))<<ttftBits | uint64(min(max(0, o.First-o.Send), 1<<ttftBits-1)))
	}
	s.occupy(o.Send, endOf(o, s.start+int64(len(s.seconds))*1e9))
}

// ttftBits hold a time to first token in nanoseconds: 19 hours.
const ttftBits = 46

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
		s.seconds[i].TokensOut = int(math.Round(s.tokens[i]))
	}
	parts := s.ttft.size()/inMemory + 1
	for i := range parts {
		from, to := i*len(s.seconds)/parts, (i+1)*len(s.seconds)/parts
		if from < to {
			s.fillFirst(sorted(&s.ttft, uint64(from)<<ttftBits, uint64(to)<<ttftBits-1))
		}
	}
	return s.seconds
}

// fillFirst fills in the times to first token of some seconds, which come in order.
func (s *series) fillFirst(all []uint64) {
	for len(all) > 0 {
		second := all[0] >> ttftBits
		n := 1
		for n < len(all) && all[n]>>ttftBits == second {
			n++
		}
		s.seconds[second].TTFTP50, s.seconds[second].TTFTP99 = msAt(all[:n], 50), msAt(all[:n], 99)
		all = all[n:]
	}
}

// msAt returns the p-th percentile in ms of times to first token in order.
func msAt(sorted []uint64, p float64) float64 {
	i, part := report.Place(len(sorted), p)
	low := ms(int64(sorted[i] & (1<<ttftBits - 1)))
	if part == 0 {
		return low
	}
	return low + part*(ms(int64(sorted[i+1]&(1<<ttftBits-1)))-low)
}

package verdict

import (
	"math"

	"bflow.dev/bflow/runplan"
)

// Kinds of stop rules.
const (
	StopMaxErrors          = "max_errors"
	StopMaxErrorRate       = "max_error_rate"
	StopMaxGlobalErrorRate = "max_global_error_rate"
	StopOverSaturation     = "over_saturation"
)

// Stop decides whether a stage stops early. It is told what happens, with times in seconds since the stage began, and
// answers with the kind of the rule that ends the stage, "" while none does. A nil Stop has no rules. It is not safe
// for concurrent use.
type Stop struct {
	rules     []runplan.StopRule
	ended     int
	failed    int
	recent    map[int]*recent // by rule
	saturated saturation
	found     bool // saturation was seen, also where it is only monitored
}

// NewStop returns a Stop for rules.
func NewStop(rules []runplan.StopRule) *Stop {
	s := &Stop{rules: rules, recent: map[int]*recent{}}
	for i, r := range rules {
		switch r.Kind {
		case StopMaxErrorRate:
			s.recent[i] = newRecent(int(number(r, "window", 30)))
		case StopOverSaturation:
			s.saturated = newSaturation(r)
		}
	}
	return s
}

// Known says whether kind is a stop rule.
func Known(kind string) bool {
	switch kind {
	case StopMaxErrors, StopMaxErrorRate, StopMaxGlobalErrorRate, StopOverSaturation:
		return true
	}
	return false
}

func number(r runplan.StopRule, name string, otherwise float64) float64 {
	if v, ok := r.Numbers[name]; ok {
		return v
	}
	return otherwise
}

// Ended takes in a request that came to its end.
func (s *Stop) Ended(failed bool) string {
	if s == nil {
		return ""
	}
	s.ended++
	if failed {
		s.failed++
	}
	for i, r := range s.rules {
		if recent := s.recent[i]; recent != nil {
			recent.add(failed)
		}
		if s.exceeded(i, r, failed) {
			return r.Kind
		}
	}
	return ""
}

func (s *Stop) exceeded(i int, r runplan.StopRule, failed bool) bool {
	switch r.Kind {
	case StopMaxErrors:
		return float64(s.failed) >= number(r, "count", math.Inf(1))
	case StopMaxErrorRate:
		return failed && s.recent[i].full() && s.recent[i].rate() >= number(r, "rate", 1)
	case StopMaxGlobalErrorRate:
		return failed && float64(s.ended) >= number(r, "minimum", 30) &&
			float64(s.failed) >= number(r, "rate", 1)*float64(s.ended)
	}
	return false
}

// FirstToken takes in the time to first token of a request, in seconds.
func (s *Stop) FirstToken(at, ttft float64) {
	if s != nil {
		s.saturated.ttft.add(at, ttft)
	}
}

// InFlight takes in the number of requests in flight.
func (s *Stop) InFlight(at, n float64) string {
	if s == nil || !s.saturated.on {
		return ""
	}
	s.saturated.inFlight.add(at, n)
	if !s.saturated.isSaturated(at) {
		return ""
	}
	s.found = true
	if s.saturated.monitor {
		return ""
	}
	return StopOverSaturation
}

// Saturated says whether over-saturation was seen, also where the rule only monitors.
func (s *Stop) Saturated() bool { return s != nil && s.found }

// SkipsRest says whether the rule of that kind ends the later stages too.
func SkipsRest(rules []runplan.StopRule, kind string) bool {
	for _, r := range rules {
		if r.Kind == kind && r.Scope == "all" {
			return true
		}
	}
	return false
}

// recent holds the last ends of requests.
type recent struct {
	failed []bool
	at, n  int
	bad    int
}

func newRecent(window int) *recent { return &recent{failed: make([]bool, max(1, window))} }

func (r *recent) add(failed bool) {
	if r.full() && r.failed[r.at] {
		r.bad--
	}
	if failed {
		r.bad++
	}
	r.failed[r.at] = failed
	r.at = (r.at + 1) % len(r.failed)
	r.n = min(r.n+1, len(r.failed))
}

func (r *recent) full() bool { return r.n == len(r.failed) }

func (r *recent) rate() float64 { return float64(r.bad) / float64(r.n) }

// Package search chooses the next load to try: the highest rate or concurrency at which the share of good requests
// meets its target, and the arithmetic of sweeps. It is a state machine without a clock: it sends nothing and knows
// no request.
//
// A search doubles the load from the lowest until a level fails, never above the highest, then bisects between the
// highest level that passed and the lowest that did not, until the two are within the tolerance. A level passes if
// the lower end of the 95 % interval (Wilson) of its share of good requests reaches the target, and fails if the
// upper end stays below. If neither holds, the level is measured longer, up to three times the usual length in total;
// after that it counts as unresolved, and the search continues below and above it. At the end the result and its
// neighbours are measured again: all measurements of a level are judged together, so that a lucky one is corrected.
// An invalid measurement, because the client was the bottleneck, proves nothing: the search stays below it and says
// so.
package search

import (
	"fmt"
	"math"
	"slices"

	"bflow.dev/bflow/runplan"
)

// defaultTolerance is the relative width of the bracket at which a search ends.
const defaultTolerance = 0.05

// maxStretch is how many times the usual length a level is measured at most before it counts as unresolved.
const maxStretch = 3

// Steps of a search.
const (
	StepDouble   = "double"   // towards the first level that fails; the first level is one too
	StepBisect   = "bisect"   // between two levels
	StepLengthen = "lengthen" // more of a level that could not be told from the target
	StepRepeat   = "repeat"   // of the answer or a neighbour, at the end
)

// Level is one measurement to make.
type Level struct {
	Value   float64 `json:"value"`   // requests per second, or requests in flight
	Stretch int     `json:"stretch"` // its length, in lengths of a level of the plan
	Step    string  `json:"step"`
}

// Outcome is what a measurement of a level gave.
type Outcome struct {
	Good    int64  `json:"good"`              // requests that met every objective
	Of      int64  `json:"of"`                // requests that were judged
	Invalid bool   `json:"invalid,omitempty"` // it must not be believed: it says nothing about the server
	Reason  string `json:"reason,omitempty"`  // of Invalid: the word of the check that failed
}

// Trial is one measurement that was made.
type Trial struct {
	Level
	Outcome
}

// Search is one search. It is not safe for concurrent use.
type Search struct {
	over      string
	target    float64
	low, high float64
	tolerance float64
	repeats   int
	limit     int // of trials

	levels []*level // by value
	trials []Trial
}

// New returns the search of a plan, or what is wrong with the plan.
func New(plan runplan.Search) (*Search, error) {
	s := &Search{
		over: plan.Over, target: plan.Goodput, low: plan.Low, high: plan.High,
		tolerance: plan.Tolerance, repeats: plan.Repeats,
	}
	if s.over == "" {
		s.over = runplan.SearchRate
	}
	if s.over != runplan.SearchRate && s.over != runplan.SearchConcurrency {
		return nil, fmt.Errorf("searching over %q: it is not one of rate, concurrency", plan.Over)
	}
	if s.whole() {
		s.low, s.high = math.Ceil(s.low), math.Floor(s.high)
	}
	if !(s.low > 0) || !(s.low <= s.high) || math.IsInf(s.high, 0) {
		return nil, fmt.Errorf("searching over %s from %v to %v: it needs 0 < low <= high", s.over, plan.Low, plan.High)
	}
	if !(s.target > 0) || s.target > 1 {
		return nil, fmt.Errorf("searching for a share of %v good requests: it is not above 0 and up to 1", plan.Goodput)
	}
	if s.tolerance == 0 {
		s.tolerance = defaultTolerance
	}
	if !(s.tolerance > 0) {
		return nil, fmt.Errorf("searching with a tolerance of %v: it is not above 0", plan.Tolerance)
	}
	s.repeats = max(1, s.repeats)
	s.limit = s.bound()
	return s, nil
}

// bound is how many measurements a search makes at most: every doubling and two bisections, all of them lengthened, the
// repeats, and what it takes to go on when repeats take an answer back. Noise that costs more has no answer.
func (s *Search) bound() int {
	doublings := math.Ceil(math.Log2(s.high/s.low)) + 2
	bisections := math.Max(1, math.Ceil(math.Log2(1/s.tolerance))) + 1
	return int(2*doublings+4*bisections) + 6*s.repeats + 4
}

func (s *Search) whole() bool { return s.over == runplan.SearchConcurrency }

// Next returns the measurement to make next; false when the search has ended. It changes nothing: without a Report it
// returns the same.
func (s *Search) Next() (Level, bool) {
	l, ended := s.decide()
	return l, ended == ""
}

// Most returns how many measurements the search makes at most, those made included; it usually ends after half of them.
func (s *Search) Most() int { return s.limit }

// Report takes what the measurement of l gave. A search that was cut off goes on where a new one has been told its
// trials: the state is nothing else.
func (s *Search) Report(l Level, o Outcome) {
	s.trials = append(s.trials, Trial{Level: l, Outcome: o})
	i, found := slices.BinarySearchFunc(s.levels, l.Value, func(have *level, v float64) int {
		switch {
		case have.value < v:
			return -1
		case have.value > v:
			return 1
		}
		return 0
	})
	if !found {
		s.levels = slices.Insert(s.levels, i, &level{value: l.Value})
	}
	s.levels[i].add(l, o, s.target)
}

// decide returns the next measurement, or why there is none.
func (s *Search) decide() (next Level, ended string) {
	if len(s.levels) == 0 {
		return Level{Value: s.low, Stretch: 1, Step: StepDouble}, ""
	}
	if len(s.trials) >= s.limit {
		return Level{}, EndedLimit
	}
	b := s.bracket()
	for _, l := range b.unresolved {
		if l.stretch < maxStretch {
			return Level{Value: l.value, Stretch: maxStretch - l.stretch, Step: StepLengthen}, ""
		}
	}
	if v, step := s.between(b); step != "" {
		return Level{Value: v, Stretch: 1, Step: step}, ""
	}
	if b.passed == nil {
		return Level{}, b.without()
	}
	for _, l := range b.around() {
		if l.repeats < s.repeats {
			return Level{Value: l.value, Stretch: 1, Step: StepRepeat}, ""
		}
	}
	return Level{}, b.end()
}

// between returns where a new level is wanted, with the step that wants it; no step where the bracket is closed. A low
// level that has too few requests to pass does not end the search: it goes up while the share is good enough.
func (s *Search) between(b bracket) (value float64, step string) {
	top := s.levels[len(s.levels)-1]
	if b.above == nil {
		if top.value < s.high && (b.passed != nil || top.meets(s.target)) {
			return s.double(top.value), StepDouble
		}
	}
	// Between unresolved levels nothing can be learnt: only below the first and above the last of them.
	first, last := b.above, b.passed
	if n := len(b.unresolved); n > 0 {
		first, last = b.unresolved[0], b.unresolved[n-1]
	}
	for _, ends := range [][2]*level{{b.passed, first}, {last, b.above}} {
		if ends[0] != nil && ends[1] != nil && s.apart(ends[0].value, ends[1].value) {
			return s.middle(ends[0].value, ends[1].value), StepBisect
		}
	}
	return 0, ""
}

// double returns the level above v: twice it, or the highest where twice is about that.
func (s *Search) double(v float64) float64 {
	if 2*v*(1+min(s.tolerance, 0.1)) >= s.high {
		return s.high
	}
	return 2 * v
}

// apart says whether two levels leave room for one between them.
func (s *Search) apart(a, b float64) bool {
	return b-a > s.tolerance*a && (!s.whole() || b-a > 1)
}

func (s *Search) middle(a, b float64) float64 {
	if s.whole() {
		return math.Floor((a + b) / 2)
	}
	return (a + b) / 2
}

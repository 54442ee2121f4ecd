package search

import (
	"slices"

	"bflow.dev/bflow/verdict"
)

// Verdicts of a level.
const (
	Passed     = "passed"
	Failed     = "failed"
	Unresolved = "unresolved" // its interval holds the target
	Invalid    = "invalid"    // what was measured must not be believed
)

// level is everything measured at one load.
type level struct {
	value         float64
	good, of      int64 // of all measurements together
	stretch       int   // sum of the lengths
	repeats       int
	met, missed   int // measurements whose own share reached the target, and did not
	invalid       bool
	invalidRepeat bool
	reason        string
}

// add counts a measurement. An invalid one makes the level invalid, except a repeat, which is only left out: what was
// believed before stays.
func (l *level) add(want Level, o Outcome, target float64) {
	l.stretch += want.Stretch
	if want.Step == StepRepeat {
		l.repeats++
	}
	if o.Invalid {
		l.reason = o.Reason
		l.invalidRepeat = want.Step == StepRepeat
		l.invalid = l.invalid || !l.invalidRepeat
		return
	}
	l.good += o.Good
	l.of += o.Of
	if one := (level{good: o.Good, of: o.Of}); one.meets(target) {
		l.met++
	} else {
		l.missed++
	}
}

// verdict judges all measurements of the level together. A target of 1 has no interval that reaches it: there a single
// bad request fails a level.
func (l *level) verdict(target float64) string {
	switch {
	case l.invalid:
		return Invalid
	case l.of == 0:
		return Unresolved
	case target == 1 && l.good == l.of:
		return Passed
	}
	low, high := verdict.Wilson(l.good, l.of)
	switch {
	case low >= target:
		return Passed
	case high < target:
		return Failed
	}
	return Unresolved
}

// meets says whether the share itself, whatever its interval, reaches the target.
func (l *level) meets(target float64) bool {
	return !l.invalid && l.of > 0 && float64(l.good) >= target*float64(l.of)
}

// bracket is where the answer lies: above passed, below above, which failed or could not be believed.
type bracket struct {
	target     float64
	levels     []*level
	passed     *level   // the highest that passed below above; nil = none
	above      *level   // the lowest that failed or was invalid; nil = none yet
	unresolved []*level // between the two
}

func (s *Search) bracket() bracket {
	b := bracket{target: s.target, levels: s.levels}
	for _, l := range s.levels {
		v := l.verdict(s.target)
		if v == Failed || v == Invalid {
			b.above = l
			break
		}
		if v == Passed {
			b.passed, b.unresolved = l, nil
		} else {
			b.unresolved = append(b.unresolved, l)
		}
	}
	return b
}

// around returns the answer and its neighbours, as far as they were measured and could be believed.
func (b bracket) around() []*level {
	i := slices.Index(b.levels, b.passed)
	out := []*level{b.passed}
	for _, j := range []int{i + 1, i - 1} {
		if j >= 0 && j < len(b.levels) && !b.levels[j].invalid {
			out = append(out, b.levels[j])
		}
	}
	return out
}

// without says why there is no answer when no level passed.
func (b bracket) without() string {
	switch b.levels[0].verdict(b.target) {
	case Failed:
		return EndedLowFails
	case Invalid:
		return EndedInvalid
	}
	return EndedLowUnresolved
}

// end says how a search with an answer ended.
func (b bracket) end() string {
	switch {
	case b.above == nil && len(b.unresolved) > 0:
		return EndedHighUnresolved
	case b.above == nil:
		return EndedHighPasses
	case b.above.invalid:
		return EndedInvalid
	}
	return EndedFound
}

package search

import (
	"fmt"
	"math"
	"strings"

	"bflow.dev/bflow/verdict"
)

// Ways in which a search ends.
const (
	EndedFound          = "found"
	EndedLowFails       = "low_fails"       // the answer lies below the lowest level, or there is none
	EndedLowUnresolved  = "low_unresolved"  // the lowest level could not be told from the target
	EndedHighPasses     = "high_passes"     // the answer lies above the highest level
	EndedHighUnresolved = "high_unresolved" // the highest level could not be told from the target
	EndedInvalid        = "invalid"         // above the answer only levels that cannot be believed
	EndedLimit          = "limit"           // too noisy: too many measurements
)

// Result is what a search knows. It may be asked for at any time; Ended is empty while the search goes on.
type Result struct {
	Over   string   `json:"over"`
	Target float64  `json:"target"`
	Ended  string   `json:"ended"`
	Value  *float64 `json:"value,omitempty"`  // the answer: highest load that holds; nil = no level passed
	Failed *float64 `json:"failed,omitempty"` // lowest load above it that does not hold; nil = none
	// lowest load above it that cannot be believed, where that bounds it
	Invalid    *float64  `json:"invalid,omitempty"`
	Unresolved []float64 `json:"unresolved,omitempty"` // loads between that could not be told from the target
	Conclusion string    `json:"conclusion"`           // the answer, or why there is none and what to do
	Confidence string    `json:"confidence"`           // what the answer rests on
	Levels     []Tried   `json:"levels"`               // by value
	Trials     []Trial   `json:"trials"`               // in order
}

// Tried is a level with the judgement of all its measurements. Share, Low and High (its 95 % interval) are nil where no
// request was judged.
type Tried struct {
	Value        float64  `json:"value"`
	Verdict      string   `json:"verdict"`
	Good         int64    `json:"good"`
	Of           int64    `json:"of"`
	Share        *float64 `json:"share,omitempty"`
	Low          *float64 `json:"low,omitempty"`
	High         *float64 `json:"high,omitempty"`
	Measurements int      `json:"measurements"` // that could be believed
	Met          int      `json:"met"`          // of them, those whose own share reached the target
}

// Result returns what is known now.
func (s *Search) Result() Result {
	r := Result{Over: s.over, Target: s.target, Trials: s.trials, Levels: []Tried{}}
	_, r.Ended = s.decide()
	for _, l := range s.levels {
		r.Levels = append(r.Levels, l.tried(s.target))
	}
	b := s.bracket()
	if b.passed != nil {
		r.Value = &b.passed.value
	}
	if b.above != nil && b.above.invalid {
		r.Invalid = &b.above.value
	} else if b.above != nil {
		r.Failed = &b.above.value
	}
	for _, l := range b.unresolved {
		r.Unresolved = append(r.Unresolved, l.value)
	}
	r.Conclusion, r.Confidence = s.conclusion(b, r.Ended), s.confidence(b)
	return r
}

func (l *level) tried(target float64) Tried {
	t := Tried{
		Value: l.value, Verdict: l.verdict(target), Good: l.good, Of: l.of, Measurements: l.met + l.missed, Met: l.met,
	}
	if l.of > 0 {
		share := float64(l.good) / float64(l.of)
		low, high := verdict.Wilson(l.good, l.of)
		t.Share, t.Low, t.High = &share, &low, &high
	}
	return t
}

// load writes a value with its unit.
func (s *Search) load(v float64) string {
	if s.whole() {
		return fmt.Sprintf("concurrency %d", int(v))
	}
	return fmt.Sprintf("%.6g requests/s", v)
}

// conclusion is the answer as a sentence, or why there is none, and what to do.
func (s *Search) conclusion(b bracket, ended string) string {
	goal := fmt.Sprintf("%.4g %% good requests", 100*s.target)
	answer := ""
	if b.passed != nil {
		answer = s.load(b.passed.value) + " holds " + goal
	}
	switch ended {
	case EndedFound:
		return answer + ", " + s.load(b.above.value) + " does not" + s.doubts(b)
	case EndedHighPasses:
		return answer + ", and it is the highest load of the search: the limit lies above it; raise high to find it"
	case EndedHighUnresolved:
		return answer + s.doubts(b) + "; no load up to the highest was seen to fail: raise high, or make the levels longer"
	case EndedLowFails:
		return fmt.Sprintf("%s, the lowest load of the search, does not hold %s: lower low, or the objectives are "+
			"beyond this server", s.load(s.levels[0].value), goal)
	case EndedLowUnresolved:
		return fmt.Sprintf("%s, the lowest load of the search, could not be told from %s%s: lower low, or make the "+
			"levels longer", s.load(s.levels[0].value), goal, s.needed())
	case EndedInvalid:
		limit := fmt.Sprintf("the measurement at %s cannot be believed%s, so nothing from there on is known%s",
			s.load(b.above.value), because(b.above.reason), remedy(b.above.reason))
		if answer == "" {
			return "no load was measured that can be believed: " + limit
		}
		return answer + s.doubts(b) + "; " + limit
	case EndedLimit:
		return fmt.Sprintf("%d measurements did not settle it: the server's answers change between measurements of "+
			"one load; make the levels longer", len(s.trials))
	}
	return s.unfinished(b, goal)
}

// unfinished says what is known before the end.
func (s *Search) unfinished(b bracket, goal string) string {
	switch {
	case b.passed == nil:
		return "not finished: no load was seen to hold " + goal + " yet"
	case b.above == nil:
		return fmt.Sprintf("not finished: %s holds %s, and nothing was seen to fail yet", s.load(b.passed.value), goal)
	}
	return fmt.Sprintf("not finished: the limit for %s lies between %s and %s",
		goal, s.load(b.passed.value), s.load(b.above.value))
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// remedy is what to do about a reason of the validity checks that lies with the client.
func remedy(reason string) string {
	if reason == "client_limited" || reason == "schedule_missed" {
		return ": give the client more CPU, or divide the load over more of them"
	}
	return ""
}

// doubts names the levels between the answer and the end of the bracket that could not be told from the target.
func (s *Search) doubts(b bracket) string {
	if len(b.unresolved) == 0 {
		return ""
	}
	var loads []string
	for _, l := range b.unresolved {
		loads = append(loads, s.load(l.value))
	}
	return "; between the two, " + strings.Join(loads, ", ") + " could not be told from the target" + s.needed()
}

// needed says how many judged requests a level needs at least to pass: where all n are good, Wilson's lower end is
// n/(n+z²).
func (s *Search) needed() string {
	const z2 = 1.959964 * 1.959964
	n := math.Ceil(z2 * s.target / (1 - s.target))
	for _, l := range s.levels {
		if l.verdict(s.target) == Unresolved && float64(l.of) < n {
			return fmt.Sprintf(" (to pass takes at least %.0f requests, all of them good)", n)
		}
	}
	return ""
}

// confidence says what the answer rests on.
func (s *Search) confidence(b bracket) string {
	if b.passed == nil {
		return "no answer"
	}
	total, agreed, unbelieved := 0, 0, false
	for _, l := range b.around() {
		if l.repeats == 0 {
			continue
		}
		total += l.met + l.missed
		switch l.verdict(s.target) {
		case Passed:
			agreed += l.met
		case Failed:
			agreed += l.missed
		default: // a level on the edge contradicts nobody
			agreed += l.met + l.missed
		}
		unbelieved = unbelieved || l.invalidRepeat
	}
	text := fmt.Sprintf("%d of %d measurements of the answer and its neighbours agree", agreed, total)
	switch {
	case total == 0:
		text = "one measurement per level"
	case agreed < total:
		text += ": expect another search to differ"
	}
	if unbelieved {
		text += "; a repeat that cannot be believed was left out"
	}
	if s.whole() || b.above == nil || b.above.invalid {
		return text
	}
	return text + fmt.Sprintf("; the bracket is %.2g %% wide", 100*(b.above.value-b.passed.value)/b.passed.value)
}

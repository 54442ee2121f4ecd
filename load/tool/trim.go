package tool

import (
	"math"
	"time"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/runplan"
)

// Skip is the part of a stage's start or end that is not measured, as written. The zero Skip skips nothing.
type Skip struct {
	Duration time.Duration // from duration text
	Number   float64       // below 1 a share, else seconds (requests where only a count bounds the stage)
	SkipForm
}

// SkipForm is the long form of Skip.
type SkipForm struct {
	Percent *float64 `json:"percent,omitempty" min:"0" max:"1" doc:"share, 0 to 1"`
	Value   *float64 `json:"value,omitempty" min:"0" doc:"seconds or requests"`
	Mode    string   `json:"mode,omitempty" enum:"duration|requests|prefer_duration|prefer_requests" implied:"prefer_duration" doc:"what it counts"`
}

// ReadTrim reads the part of a stage that is not measured: a number below 1 is a share, from 1 on it is seconds (or
// requests where only those bound the stage), a duration is itself, a map says more.
func ReadTrim(v Value, b Bounds) runplan.Trim {
	if !v.IsSet() {
		return runplan.Trim{}
	}
	s := skipOf(v)
	for _, f := range s.Check(b) {
		v.Errorf("%s", f.Text)
	}
	return s.Trim(b)
}

func skipOf(v Value) Skip {
	switch {
	case v.Is(yaml.MappingNode):
		return Skip{SkipForm: skipForm(v)}
	case scalar.IsDuration(v.Node):
		return Skip{Duration: v.Duration().D()}
	}
	return Skip{Number: v.NumberAtLeast(0)}
}

func skipForm(v Value) (form SkipForm) {
	f := v.Fields()
	percent, amount := f.Get("percent"), f.Get("value")
	form.Mode = f.Get("mode").Word("prefer_duration", "prefer_requests", "duration", "requests", "both")
	f.Close()
	if percent.IsSet() {
		form.Percent = new(percent.Fraction())
	}
	if amount.IsSet() {
		form.Value = new(amount.NumberAtLeast(0))
	}
	if form.Percent == nil && form.Value == nil && f.Has("percent", "value") {
		return SkipForm{} // null, as a report of the tool says of a stage without one
	}
	if form.Mode == "both" {
		v.NeedsTool("mode both leaves out by time and by requests at once")
	}
	return form
}

// lengthOfTime is what is wanted where a number of seconds is none, or too many.
const lengthOfTime = "want a length of time from 0 to ten years, found %q"

// Check finds a part that is said twice or not at all, or that its stage has no bound for.
func (s Skip) Check(b Bounds) (out problem.Findings) {
	switch {
	case s.Percent != nil && s.Value != nil:
		out.Add("", "takes percent or value, not both")
	case s.Mode != "" && s.Percent == nil && s.Value == nil:
		out.Add("", "needs percent (a share from 0 to 1) or value")
	}
	switch {
	case s.Mode == "requests" && b.Requests == 0:
		out.Add("", "mode requests needs a bound on requests")
	case s.Mode == "duration" && b.Duration == 0:
		out.Add("", "mode duration needs a bound on time")
	}
	switch amount := s.amount(); {
	case s.isShare():
	case s.byRequests(b) && (amount != math.Trunc(amount) || amount > runplan.MostRequests):
		out.Add("", "want a number of requests, found %s", scalar.Plain(amount))
	case !s.byRequests(b) && amount > runplan.LongestTime.Seconds():
		out.Add("", lengthOfTime, scalar.Plain(amount))
	}
	return out
}

// amount is the number that is no share.
func (s Skip) amount() float64 {
	if s.Value != nil {
		return *s.Value
	}
	return s.Number
}

// isShare reports whether s is a part of the stage: its number says so, or percent does.
func (s Skip) isShare() bool { return s.Value == nil && (s.Percent != nil || s.Number < 1) }

// byRequests reports whether s counts requests in a stage of the given bounds.
func (s Skip) byRequests(b Bounds) bool {
	if b.Requests == 0 {
		return false
	}
	switch s.Mode {
	case "requests", "prefer_requests":
		return true
	case "prefer_duration", "":
		return b.Duration == 0
	}
	return false
}

// Trim is s in a stage of the given bounds.
func (s Skip) Trim(b Bounds) runplan.Trim {
	amount := s.amount()
	switch {
	case s.Duration > 0:
		return runplan.Trim{Duration: runplan.Duration(s.Duration)}
	case s.Percent != nil && s.byRequests(b):
		return runplan.Trim{Requests: int(math.Ceil(*s.Percent * float64(b.Requests)))}
	case s.Percent != nil:
		return shareOf(*s.Percent, s.Mode, b)
	case s.isShare():
		return runplan.Trim{Share: amount}
	case s.byRequests(b):
		return runplan.Trim{Requests: int(amount)}
	}
	return runplan.Trim{Duration: runplan.Duration(math.Round(amount * float64(time.Second)))}
}

// shareOf keeps a share as one where the stage's own rule reads it the same way.
func shareOf(share float64, mode string, b Bounds) runplan.Trim {
	if mode == "duration" && b.Requests > 0 {
		return runplan.Trim{Duration: runplan.Duration(math.Round(share * float64(b.Duration)))}
	}
	return runplan.Trim{Share: share}
}

package load

import (
	"math"
	"time"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/runplan"
)

// trim reads the part of a stage that is not measured: a number below 1 is a share, from 1 on it is seconds (or
// requests where only those bound the stage), a duration is itself, a map says more.
func (v value) trim(b bounds) runplan.Trim {
	if !v.set() {
		return runplan.Trim{}
	}
	s := v.skip()
	for _, f := range s.check(b) {
		v.errorf("%s", f.Text)
	}
	return s.trim(b)
}

func (v value) skip() Skip {
	switch {
	case v.is(yaml.MappingNode):
		return Skip{SkipForm: v.skipForm()}
	case scalar.IsDuration(v.node):
		return Skip{Duration: v.duration().D()}
	}
	return Skip{Number: v.numberAtLeast(0)}
}

func (v value) skipForm() (form SkipForm) {
	f := v.fields()
	percent, amount := f.get("percent"), f.get("value")
	form.Mode = f.get("mode").word("prefer_duration", "prefer_requests", "duration", "requests", "both")
	f.close()
	if percent.set() {
		form.Percent = new(percent.fraction())
	}
	if amount.set() {
		form.Value = new(amount.numberAtLeast(0))
	}
	if form.Percent == nil && form.Value == nil && f.has("percent", "value") {
		return SkipForm{} // null, as a report of the tool says of a stage without one
	}
	if form.Mode == "both" {
		v.needsTool("mode both leaves out by time and by requests at once")
	}
	return form
}

// lengthOfTime is what is wanted where a number of seconds is none, or too many.
const lengthOfTime = "want a length of time from 0 to ten years, found %q"

// check finds a part that is said twice or not at all, or that its stage has no bound for.
func (s Skip) check(b bounds) (out problem.Findings) {
	switch {
	case s.Percent != nil && s.Value != nil:
		out.Add("", "takes percent or value, not both")
	case s.Mode != "" && s.Percent == nil && s.Value == nil:
		out.Add("", "needs percent (a share from 0 to 1) or value")
	}
	switch {
	case s.Mode == "requests" && b.requests == 0:
		out.Add("", "mode requests needs a bound on requests")
	case s.Mode == "duration" && b.duration == 0:
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
func (s Skip) byRequests(b bounds) bool {
	if b.requests == 0 {
		return false
	}
	switch s.Mode {
	case "requests", "prefer_requests":
		return true
	case "prefer_duration", "":
		return b.duration == 0
	}
	return false
}

// trim is s in a stage of the given bounds.
func (s Skip) trim(b bounds) runplan.Trim {
	amount := s.amount()
	switch {
	case s.Duration > 0:
		return runplan.Trim{Duration: runplan.Duration(s.Duration)}
	case s.Percent != nil && s.byRequests(b):
		return runplan.Trim{Requests: int(math.Ceil(*s.Percent * float64(b.requests)))}
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
func shareOf(share float64, mode string, b bounds) runplan.Trim {
	if mode == "duration" && b.requests > 0 {
		return runplan.Trim{Duration: runplan.Duration(math.Round(share * float64(b.duration)))}
	}
	return runplan.Trim{Share: share}
}

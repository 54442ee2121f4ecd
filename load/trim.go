package load

import (
	"math"
	"time"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/runplan"
)

// trim reads the part of a stage that is not measured: a number below 1 is a share, from 1 on it is seconds (or
// requests where only those bound the stage), a duration is itself, a map says more.
func (v value) trim(b bounds) runplan.Trim {
	switch {
	case !v.set():
		return runplan.Trim{}
	case v.is(yaml.MappingNode):
		return v.trimMap(b)
	case scalar.IsDuration(v.node):
		return runplan.Trim{Duration: v.duration()}
	}
	x := v.numberAtLeast(0)
	switch {
	case x < 1:
		return runplan.Trim{Share: x}
	case b.duration == 0 && b.requests > 0:
		return runplan.Trim{Requests: v.integer(1)}
	default:
		return runplan.Trim{Duration: v.seconds(time.Second)}
	}
}

func (v value) trimMap(b bounds) runplan.Trim {
	f := v.fields()
	percent, amount := f.get("percent"), f.get("value")
	mode := f.get("mode").word("prefer_duration", "prefer_requests", "duration", "requests", "both")
	f.close()
	switch {
	case percent.set() && amount.set():
		v.errorf("takes percent or value, not both")
	case !percent.set() && !amount.set() && f.has("percent", "value"):
		return runplan.Trim{} // null, as a report of the tool says of a stage without one
	case !percent.set() && !amount.set():
		v.errorf("needs percent (a share from 0 to 1) or value")
	}
	if mode == "both" {
		v.needsTool("mode both leaves out by time and by requests at once")
	}
	if v.byRequests(mode, b) {
		return runplan.Trim{Requests: requestsOf(percent, amount, b)}
	}
	if percent.set() {
		return shareOf(percent.fraction(), mode, b)
	}
	return runplan.Trim{Duration: amount.seconds(time.Second)}
}

func (v value) byRequests(mode string, b bounds) bool {
	if mode == "requests" && b.requests == 0 {
		v.errorf("mode requests needs a max_requests constraint")
	}
	if mode == "duration" && b.duration == 0 {
		v.errorf("mode duration needs a max_duration constraint")
	}
	if b.requests == 0 {
		return false
	}
	return mode == "requests" || mode == "prefer_requests" || (mode == "prefer_duration" && b.duration == 0)
}

func requestsOf(percent, amount value, b bounds) int {
	if amount.set() {
		return amount.integer(0)
	}
	return int(math.Ceil(percent.fraction() * float64(b.requests)))
}

// shareOf keeps a share as one where the stage's own rule reads it the same way.
func shareOf(share float64, mode string, b bounds) runplan.Trim {
	if mode == "duration" && b.requests > 0 {
		return runplan.Trim{Duration: runplan.Duration(math.Round(share * float64(b.duration)))}
	}
	return runplan.Trim{Share: share}
}

package shape

import (
	"strconv"

	"bflow.dev/bflow/runplan"
)

// throughput sends as much as the server takes: max_inflight slots, or all requests at once without it.
func throughput() Shape {
	return Shape{
		Name: runplan.ShapeThroughput, Key: "throughput",
		Takes: Takes{Ramp: true},
		Refuses: Refuses{
			OnFull: "on_full needs rate or schedule; a throughput stage only sends what fits",
		},
		Slots: InFlight,
		Label: func(s *runplan.Stage) string {
			if s.MaxInflight == 0 {
				return ""
			}
			return "throughput-" + strconv.Itoa(s.MaxInflight)
		},
		Most: func(s *runplan.Stage) (requests, inFlight int) { // each is a slot of its own
			if s.MaxInflight == 0 {
				return runplan.MostAtOnce, runplan.MostAtOnce
			}
			return runplan.MostRequests, runplan.MostAtOnce
		},
	}
}

// ThroughputField makes the stage of the highest throughput.
type ThroughputField struct {
	Throughput bool `json:"throughput,omitempty" default:"false" doc:"highest throughput: closed loop with max_inflight slots, or all requests at once without it"`
}

// Stages returns the stage that the field describes.
func (f ThroughputField) Stages() []runplan.Stage {
	if !f.Throughput {
		return nil
	}
	return []runplan.Stage{{Shape: runplan.ShapeThroughput}}
}

package shape

import (
	"strconv"

	"bflow.dev/bflow/runplan"
)

// closed keeps a number of slots busy: each sends its next request when the one before has ended.
func closed() Shape {
	return Shape{
		Name: runplan.ShapeClosed, Key: "concurrency",
		Axis:  Axis{Label: "concurrent streams", Unit: "streams"},
		Takes: Takes{Ramp: true, SlotPer: true},
		Refuses: Refuses{
			MaxInflight: "max_inflight needs rate or schedule; concurrency already limits them",
		},
		Slots: func(s *runplan.Stage) int { return max(1, s.Concurrency) },
		Label: func(s *runplan.Stage) string { return "concurrency-" + strconv.Itoa(s.Concurrency) },
	}
}

// ConcurrencyField makes a stage of each number of slots.
type ConcurrencyField struct {
	Concurrency List[int] `json:"concurrency,omitempty" min:"1" doc:"closed loop: slots that send their next request once the last has ended"`
}

// Stages are those of the numbers.
func (f ConcurrencyField) Stages() (all []runplan.Stage) {
	for _, n := range f.Concurrency {
		all = append(all, runplan.Stage{Shape: runplan.ShapeClosed, Concurrency: n})
	}
	return all
}

// SynchronousField makes a stage of one slot.
type SynchronousField struct {
	Synchronous bool `json:"synchronous,omitempty" default:"false" doc:"one request at a time (concurrency 1)"`
}

// Stages returns the stage that the field describes.
func (f SynchronousField) Stages() []runplan.Stage {
	if !f.Synchronous {
		return nil
	}
	return []runplan.Stage{{Name: "synchronous", Shape: runplan.ShapeClosed, Concurrency: 1}}
}

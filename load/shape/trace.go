package shape

import (
	"fmt"
	"time"

	"bflow.dev/bflow/internal/saturate"
	"bflow.dev/bflow/load/schedule"
	"bflow.dev/bflow/runplan"
)

// trace sends at recorded times.
func trace() Shape {
	return Shape{
		Name: runplan.ShapeTrace, Key: "schedule",
		Axis:    Axis{Label: "offered load, requests/s"},
		Replays: true,
		Schedule: func(s runplan.Stage, in Input) (schedule.Schedule, error) {
			if in.Trace == nil {
				return nil, fmt.Errorf("stage %q replays a trace, and load.data.trace names none", s.Name)
			}
			return in.Trace.Schedule(s)
		},
		Length: func(s *runplan.Stage, trace *runplan.Trace) (time.Duration, bool) {
			if trace == nil || trace.To <= trace.From || s.MaxInflight > 0 {
				return 0, false
			}
			return windowLength(trace), true
		},
	}
}

// windowLength is the length of a trace's window as it is played. Later turns of a session that keep the recorded idle
// gap end when the server lets them: the drain of the stage holds one request, as elsewhere.
func windowLength(t *runplan.Trace) time.Duration {
	scale := t.TimeScale
	if scale == 0 {
		scale = 1
	}
	return saturate.Times(saturate.Seconds((t.To-t.From).D().Seconds()*scale), max(t.Repeat, 1))
}

// ScheduleField makes the stage that replays data.trace.
type ScheduleField struct {
	Schedule string `json:"schedule,omitempty" enum:"trace" doc:"send at the times of the trace"`
}

// Stages returns the stage that the field describes.
func (f ScheduleField) Stages() []runplan.Stage {
	if f.Schedule == "" {
		return nil
	}
	return []runplan.Stage{{Shape: runplan.ShapeTrace}}
}

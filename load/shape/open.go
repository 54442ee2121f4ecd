package shape

import (
	"strconv"
	"time"

	"bflow.dev/bflow/internal/saturate"
	"bflow.dev/bflow/load/schedule"
	"bflow.dev/bflow/runplan"
)

// open sends at a rate, whatever the server does. Arrivals are even or random, and the rate may be reached by a ramp.
func open() Shape {
	return Shape{
		Name: runplan.ShapeOpen, Key: "rate",
		Axis:  Axis{Label: "offered load, requests/s", Unit: "req/s"},
		Takes: Takes{Arrival: true, Ramp: true, RampForm: true},
		Paced: true,
		Schedule: func(s runplan.Stage, in Input) (schedule.Schedule, error) {
			return schedule.Open(s, in.Rate, in.Seed)
		},
		Length: func(s *runplan.Stage, _ *runplan.Trace) (time.Duration, bool) {
			if s.Requests <= 0 || s.Rate <= 0 || s.MaxInflight > 0 {
				return 0, false
			}
			return saturate.Plus(saturate.Seconds(float64(s.Requests)/s.Rate), s.Ramp.D()), true
		},
		Label: func(s *runplan.Stage) string {
			if s.Between != nil { // its rate is not known yet
				return ""
			}
			return "rate-" + strconv.FormatFloat(s.Rate, 'g', -1, 64)
		},
	}
}

// RateField makes a stage of each rate.
type RateField struct {
	Rate List[float64] `json:"rate,omitempty" above:"0" unit:"requests/s" doc:"open loop: requests per second, independent of the server's speed"`
}

// Stages are those of the rates.
func (f RateField) Stages() (all []runplan.Stage) {
	for _, x := range f.Rate {
		all = append(all, runplan.Stage{Shape: runplan.ShapeOpen, Rate: x})
	}
	return all
}

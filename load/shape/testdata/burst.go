package shape

import (
	"time"

	"bflow.dev/bflow/internal/saturate"
	"bflow.dev/bflow/load/schedule"
	"bflow.dev/bflow/runplan"
)

// burst sends a number of requests at once, again and again. Its rate is that of all bursts together.
func burst() Shape {
	return Shape{
		Name: "burst", Key: "burst",
		Axis:  Axis{Label: "requests/s in bursts", Unit: "req/s in bursts"},
		Paced: true,
		Schedule: func(s runplan.Stage, in Input) (schedule.Schedule, error) {
			return &bursts{size: int64(s.Numbers["size"]), rate: in.Rate, stage: s}, nil
		},
		Length: func(s *runplan.Stage, _ *runplan.Trace) (time.Duration, bool) {
			return saturate.Seconds(float64(s.Requests) / s.Rate), s.Requests > 0
		},
	}
}

// bursts are the sends of a stage.
type bursts struct {
	size, next int64
	rate       float64
	stage      runplan.Stage
}

// Next returns the next send: all of a burst have one time.
func (b *bursts) Next() (schedule.Send, bool) {
	first := b.next - b.next%b.size // of its burst
	send := schedule.Send{At: int64(float64(first) / b.rate * 1e9), Index: b.next}
	b.next++
	inTime := b.stage.Duration == 0 || send.At < int64(b.stage.Duration)
	return send, inTime && (b.stage.Requests == 0 || send.Index < int64(b.stage.Requests))
}

// BurstField makes the stage from what a file says.
type BurstField struct {
	Burst *Burst `json:"burst,omitempty" doc:"so many requests at once, again and again"`
}

// Burst holds the fields below key burst.
type Burst struct {
	Size  int           `json:"size" req:"true" min:"1" doc:"requests of one burst"`
	Every time.Duration `json:"every" req:"true" doc:"time from one burst to the next"`
}

// Stages returns the stage that the field describes. Numbers holds what no field of a stage has room for.
func (f BurstField) Stages() []runplan.Stage {
	if f.Burst == nil {
		return nil
	}
	size := float64(f.Burst.Size)
	return []runplan.Stage{{
		Shape: "burst", Rate: size / f.Burst.Every.Seconds(), Numbers: map[string]float64{"size": size},
	}}
}

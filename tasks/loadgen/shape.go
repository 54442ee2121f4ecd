package loadgen

import (
	"fmt"

	"bflow.dev/bflow/load/schedule"
	"bflow.dev/bflow/runplan"
)

// shaper decides when the requests of a stage are sent.
type shaper interface {
	// begin is called once, when the clock of the stage is set.
	begin()
	// due sends what is due.
	due(now int64)
	// next returns when it wants to be called again; false when only answers will move it on.
	next() (at int64, ok bool)
	// ended takes a request that has ended. The flight is recycled afterwards.
	ended(f *flight)
	// prepare makes a request ahead of its time; false when there is nothing to prepare.
	prepare() bool
	// drop gives up what has not been sent: the time of the stage is over.
	drop()
	// idle says whether nothing will be sent any more but by answers that are still awaited.
	idle() bool
}

// newShape returns what sends the requests of a stage.
func (d *driver) newShape() (shaper, error) {
	switch d.plan.Shape {
	case runplan.ShapeOpen:
		times, err := schedule.Open(d.plan, d.rate, d.seed)
		return d.openShape(times, err)
	case runplan.ShapeTrace:
		if d.trace == nil {
			return nil, fmt.Errorf("stage %q replays a trace, and load.data.trace names none", d.plan.Name)
		}
		times, err := d.trace.Schedule(d.plan)
		return d.openShape(times, err)
	}
	return &closedShape{driver: d, n: d.slots(), perRequest: d.plan.SlotPer == "request"}, nil
}

func (d *driver) openShape(times schedule.Schedule, err error) (shaper, error) {
	if err == nil {
		times, err = schedule.Shard(times, d.shard, d.shards)
	}
	if err != nil {
		return nil, err
	}
	if d.plan.MaxInflight > 0 && d.plan.MaxInflight < d.shards {
		return nil, fmt.Errorf("stage %q: max_inflight %d is fewer than the %d shards", d.plan.Name, d.plan.MaxInflight, d.shards)
	}
	g := &openShape{driver: d, times: times, cap: part(d.plan.MaxInflight, d.shard, d.shards), drops: d.plan.OnFull == "drop"}
	if d.trace != nil {
		g.turnRule = runplan.TurnsRecorded
		if rule := d.source.Data.Trace.Turns; rule != "" {
			g.turnRule = rule
		}
	}
	return g, nil
}

// part is the share of shard k of n in a whole number: the shares add up to it.
func part(whole, k, n int) int {
	share := whole / n
	if k < whole%n {
		share++
	}
	return share
}

// slots returns the number of requests that a closed loop keeps in flight, all shards together.
func (d *driver) slots() int {
	switch {
	case d.plan.Shape == runplan.ShapeClosed:
		return max(1, d.plan.Concurrency)
	case d.plan.MaxInflight > 0:
		return d.plan.MaxInflight
	case d.plan.Requests > 0:
		return d.plan.Requests
	}
	return runplan.Uncapped
}

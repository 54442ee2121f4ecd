package loadgen

import (
	"fmt"

	"bflow.dev/bflow/load/schedule"
	"bflow.dev/bflow/load/shape"
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
	// complete takes a request that has ended. The flight is recycled afterwards.
	complete(f *flight)
	// prepare makes a request ahead of its time; false when there is nothing to prepare.
	prepare() bool
	// drop gives up what has not been sent: the time of the stage is over.
	drop()
	// idle says whether nothing will be sent any more but by answers that are still awaited.
	idle() bool
}

// newShape returns what sends the requests of a stage.
func (d *driver) newShape() (shaper, error) {
	if d.kind.Schedule == nil {
		return &closedShape{driver: d, n: d.kind.Slots(&d.plan), perRequest: d.plan.SlotPer == "request"}, nil
	}
	in := shape.Input{Rate: d.rate, Seed: d.seed}
	if d.trace != nil {
		in.Trace = d.trace
	}
	times, err := d.kind.Schedule(d.plan, in)
	return d.openShape(times, err)
}

func (d *driver) openShape(times schedule.Schedule, err error) (shaper, error) {
	if err == nil {
		times, err = schedule.Shard(times, d.shard, d.shards)
	}
	if err != nil {
		return nil, err
	}
	if d.plan.MaxInflight > 0 && d.plan.MaxInflight < d.shards {
		return nil, fmt.Errorf("stage %q: max_inflight %d is fewer than the %d shards", d.plan.Name, d.plan.MaxInflight,
			d.shards)
	}
	g := &openShape{driver: d, times: times, cap: part(d.plan.MaxInflight, d.shard, d.shards),
		drops: d.plan.OnFull == "drop"}
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

// senderCount is how many shards send: a closed loop of fewer slots than shards leaves some without.
func (d *driver) senderCount() int {
	if d.kind.Slots == nil {
		return d.shards
	}
	return min(d.shards, d.kind.Slots(&d.plan))
}

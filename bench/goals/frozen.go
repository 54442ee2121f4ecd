package main

import (
	"fmt"
	"math"
	"time"

	"bflow.dev/bflow/bench/rig"
	"bflow.dev/bflow/bench/truth"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/omission"
)

// frozenCase is G10. The moment of the freeze is not exact, because the engine hears of it while load-gen starts, and
// does not matter: the formula needs it only to lie well within the window.
func frozenCase(limit int) omission.Case {
	return omission.Case{Rate: 100, Window: 10 * time.Second, At: 3 * time.Second, Freeze: time.Second,
		TTFT: 5 * time.Millisecond, E2E: 5 * time.Millisecond, Cap: limit}
}

// frozen measures G10, without and with a cap on requests in flight.
func frozen(l *lab) (found, error) {
	out := found{}
	for key, limit := range map[string]int{
		"G10 frozen 1 s: ttft_intended p99 off the analytic": 0,
		"G10 the same with a cap of 10 in flight":            10,
	} {
		c := frozenCase(limit)
		want, ok := c.Formula(99)
		if !ok {
			return nil, fmt.Errorf("there is no analytic value for %+v", c)
		}
		err := l.try(frozenTrial(l, c), func(r result) error {
			_, pairs, _, err := r.pairs()
			if err != nil {
				return err
			}
			p99 := truth.Quantiles(truth.Intended(pairs), 99)[0]
			off := 100 * math.Abs(p99*float64(time.Millisecond)/float64(want)-1)
			l.say("cap %d: ttft_intended p99 %.1f ms, analytic %v, %d requests", limit, p99, want, len(pairs))
			out[key] = value{v: off, disturbed: r.disturbed}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// frozenTrial is the load of c.
func frozenTrial(l *lab, c omission.Case) trial {
	stage := open(c.Rate, "constant", c.Window)
	stage.MaxInflight = c.Cap
	freeze := runplan.Fault{Kind: runplan.FaultFreeze, After: runplan.Duration(c.At), Duration: runplan.Duration(c.Freeze)}
	return trial{
		sim: runplan.Sim{TTFT: runplan.Duration(c.TTFT)}, plan: rig.Plan(1, stage),
		during: func(e *rig.Engine) error { return e.Inject(l.ctx, freeze) },
	}
}

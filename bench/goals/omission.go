package main

import (
	"math"
	"time"

	"bflow.dev/bflow/bench/rig"
	"bflow.dev/bflow/bench/truth"
	"bflow.dev/bflow/tasks/runplan"
)

// Load of G10.
const (
	frozenRate   = 100
	frozenLength = 10 * time.Second
	frozenFor    = time.Second
	frozenAfter  = 3 * time.Second
	frozenTTFT   = 5 * time.Millisecond
)

// omission measures G10, without and with a cap on requests in flight.
func omission(l *lab) (found, error) {
	out := found{}
	for key, limit := range map[string]int{
		"G10 frozen 1 s: ttft_intended p99 off the analytic": 0,
		"G10 the same with a cap of 10 in flight":            10,
	} {
		stage := open(frozenRate, "constant", frozenLength)
		stage.MaxInflight = limit
		freeze := runplan.Fault{Kind: runplan.FaultFreeze, After: runplan.Duration(frozenAfter), Duration: runplan.Duration(frozenFor)}
		during := func(e *rig.Engine) error { return e.Inject(l.ctx, freeze) }
		err := l.try(trial{sim: runplan.Sim{TTFT: runplan.Duration(frozenTTFT)}, plan: rig.Plan(1, stage), during: during}, func(r result) error {
			_, pairs, _, err := r.pairs()
			if err != nil {
				return err
			}
			p99 := truth.Quantiles(truth.Intended(pairs), 99)[0]
			want := frozenP99()
			l.say("cap %d: ttft_intended p99 %.1f ms, analytic %.1f ms, %d requests", limit, p99, want, len(pairs))
			out[key] = value{v: 100 * math.Abs(p99/want-1), disturbed: r.disturbed}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// frozenP99 is the 99th percentile in ms: of the requests, the share frozenFor / frozenLength waits uniformly in
// [0, frozenFor] and then takes the engine's time to first token, as all others do. A cap of ten changes it by less
// than the tolerance: the requests that wait longest are the first to be sent when the engine goes on.
func frozenP99() float64 {
	beyond := 0.01 * float64(frozenLength) // of the waiting times, so much lies above the percentile
	return (float64(frozenFor) - beyond + float64(frozenTTFT)) / float64(time.Millisecond)
}

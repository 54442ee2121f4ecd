package main

import (
	"fmt"
	"time"

	"bflow.dev/bflow/bench/rig"
	"bflow.dev/bflow/bench/truth"
	"bflow.dev/bflow/runplan"
)

// burst measures G14: a first stage opens 1 000 connections, the second sends on all of them at once.
func burst(l *lab) (found, error) {
	const streams = 1000
	warm := closed(streams, streams)
	warm.Name, warm.Measure, warm.PauseAfter = "warm", false, runplan.Duration(500*time.Millisecond)
	out := found{}
	cfg := runplan.Sim{TTFT: runplan.Duration(300 * time.Millisecond)}
	err := l.try(trial{sim: cfg, plan: rig.Plan(1, warm, closed(streams, streams))}, func(r result) error {
		log, err := truth.ReadLog(r.truth)
		if err != nil {
			return err
		}
		log = truth.OfStage(log, 1)
		if len(log) != streams {
			return fmt.Errorf("%d of %d requests arrived", len(log), streams)
		}
		cold := 0
		for _, rec := range log {
			if !rec.ConnReused {
				cold++
			}
		}
		v := value{v: 1e3 * truth.Spread(truth.Arrivals(log)), disturbed: r.disturbed}
		if cold > 0 {
			v.notes = append(v.notes, fmt.Sprintf("%d connections were not warm", cold))
		}
		out["G14 burst of 1 000: spread of first bytes"] = v
		return nil
	})
	return out, err
}

package main

import (
	"fmt"
	"time"

	"bflow.dev/bflow/bench/rig"
	"bflow.dev/bflow/bench/truth"
	"bflow.dev/bflow/runplan"
)

// stamps measures G5 with the stamps of both clocks, and G6: 200 streams of a token every 10 ms, spread evenly.
func stamps(l *lab) (found, error) {
	out := found{}
	for _, clock := range []string{"kernel", "user"} {
		if err := l.measureStamps(clock, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (l *lab) measureStamps(asked string, out found) error {
	const streams, tokens = 200, 64
	stage := closed(streams, l.n(3000))
	stage.Ramp = runplan.Duration(tokenGap)
	plan := rig.Plan(tokens, stage)
	plan.Measurements[0].Record = &runplan.Record{Gaps: true}
	return l.try(trial{sim: streaming(), plan: plan, clock: asked}, func(r result) error {
		clock, pairs, _, err := r.pairs()
		if err != nil {
			return err
		}
		if clock != asked {
			l.say("rows carry stamps of the clock %s, not %s", clock, asked)
			return nil
		}
		ttft := truth.Quantiles(truth.TTFTErrors(pairs), 50, 99)
		l.say("%d requests, clock %s: ttft error p50 %.1f p99 %.1f µs", len(pairs), clock, ttft[0], ttft[1])
		for i, p := range []string{"p50", "p99"} {
			out["G5 ttft error "+p+", "+clock] = r.value(ttft[i])
		}
		if clock != "kernel" {
			return nil
		}
		gaps, err := truth.GapErrors(pairs)
		if err != nil {
			l.say("no gaps to compare: %v", err)
			return nil
		}
		out["G6 itl error p99 at 20 000 tokens/s"] = r.value(truth.Quantiles(gaps, 99)[0])
		return nil
	})
}

// largePrompts measures G15.
func largePrompts(l *lab) (found, error) {
	const streams, promptTokens, bodyBytes = 100, 50_000, 200_000
	stage := closed(streams, max(streams, l.n(500)))
	stage.Ramp = runplan.Duration(time.Second)
	plan := rig.Plan(16, stage)
	plan.Measurements[0].Data.Input = &runplan.Length{Shape: "fixed", Mean: promptTokens}
	out := found{}
	cfg := runplan.Sim{TTFT: runplan.Duration(time.Second), ITL: runplan.Duration(tokenGap)}
	err := l.try(trial{sim: cfg, plan: plan}, func(r result) error {
		_, pairs, _, err := r.pairs()
		if err != nil {
			return err
		}
		if b := meanBytesOut(pairs); b < bodyBytes {
			return fmt.Errorf("requests of %.0f bytes, want prompts of 200 kB", b)
		}
		q := truth.Quantiles(truth.TTFTErrors(pairs), 50, 99)
		l.say("%d requests of %.0f bytes: p50 %.1f p99 %.1f µs", len(pairs), meanBytesOut(pairs), q[0], q[1])
		out["G15 ttft inflation p99, 200 kB prompts, 100 streams"] = r.value(q[1] / 1e3)
		return nil
	})
	return out, err
}

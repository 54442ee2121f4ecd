package main

import (
	"fmt"
	"math"
	"strconv"

	"bflow.dev/bflow/bench/rig"
	"bflow.dev/bflow/bench/truth"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim"
)

// promptBytes is the least length of a request body whose prompt is 1 kB.
const promptBytes = 1000

// oneEvent measures G1 and G16: a closed loop of 32 streams of answers with one event.
func oneEvent(l *lab) (found, error) {
	n := l.n(100_000)
	floor, err := l.floor(runplan.Sim{}, "--streams", "32", "--requests", strconv.Itoa(n))
	if err != nil {
		return nil, err
	}
	out := found{}
	err = l.try(trial{plan: rig.Plan(1, closed(32, n))}, func(r result) error {
		_, pairs, lost, err := r.pairs()
		if err != nil {
			return err
		}
		if len(pairs) != n || lost > 0 {
			return fmt.Errorf("%d of %d requests are ok, %d have no row", len(pairs), n, lost)
		}
		if b := meanBytesOut(pairs); b < promptBytes {
			return fmt.Errorf("requests of %.0f bytes, want prompts of 1 kB", b)
		}
		v := r.value(float64(n) / r.CPU().Seconds())
		v.floor = float64(floor.Requests) / floor.CPU.Seconds()
		l.say("client: user %v, system %v, wall %v; floor %.0f/s; request %.0f bytes",
			r.User, r.System, r.Wall(), v.floor, meanBytesOut(pairs))
		out["G1 one-event chats per CPU-second"] = v
		v = r.value(float64(r.Ended-lastEnd(pairs)) / 1e9)
		if l.quick {
			v.notes = append(v.notes, fmt.Sprintf("of %d requests only", n))
		}
		out["G16 last end to exit, 100 000 requests"] = v
		return nil
	})
	return out, err
}

func meanBytesOut(pairs []truth.Pair) float64 {
	sum := 0.0
	for _, p := range pairs {
		sum += float64(p.Row.BytesOut)
	}
	return sum / float64(len(pairs))
}

func lastEnd(pairs []truth.Pair) int64 {
	last := int64(0)
	for _, p := range pairs {
		last = max(last, p.Truth.End)
	}
	return last
}

// Shape of G2: the engine writes 100 events at once, as fast as the client reads.
const (
	coalescedStreams = 8
	coalescedTokens  = 10_000
)

// coalesced measures G2.
func coalesced(l *lab) (found, error) {
	n := l.n(400)
	floor, err := l.floor(runplan.Sim{}, "--streams", strconv.Itoa(coalescedStreams), "--requests", strconv.Itoa(n),
		"--tokens", strconv.Itoa(coalescedTokens))
	if err != nil {
		return nil, err
	}
	out := found{}
	err = l.try(trial{plan: rig.Plan(coalescedTokens, closed(coalescedStreams, n))}, func(r result) error {
		_, pairs, lost, err := r.pairs()
		if err != nil {
			return err
		}
		claimed, sent := truth.Tokens(pairs)
		events := countEvents(pairs)
		v := r.value(float64(events) / r.CPU().Seconds())
		v.floor = float64(floor.Events) / floor.CPU.Seconds()
		l.say("client: user %v, system %v, %d events; floor %.0f/s of %.0f bytes",
			r.User, r.System, events, v.floor, float64(floor.Bytes)/float64(floor.Events))
		out["G2 coalesced events per CPU-second"] = v
		out["G2 tokens that differ from the truth"] = r.value(math.Abs(float64(claimed-sent)) + float64(lost))
		return nil
	})
	return out, err
}

func countEvents(pairs []truth.Pair) int {
	n := 0
	for _, p := range pairs {
		n += len(p.Truth.Events)
	}
	return n
}

// countLog is the same of a log.
func countLog(log []sim.Record) int {
	n := 0
	for _, r := range log {
		n += len(r.Events)
	}
	return n
}

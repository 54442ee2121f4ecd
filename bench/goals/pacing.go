package main

import (
	"fmt"
	"math"
	"time"

	"bflow.dev/bflow/bench/rig"
	"bflow.dev/bflow/bench/truth"
	"bflow.dev/bflow/runplan"
)

// Load of G7 to G9.
const (
	pacingRate = 1000
	// pacingWindows of equal length are what the index of dispersion needs to be within 0.1 of the truth; over a minute
	// they are 30 ms long. The index of a Poisson process is 1 for every length.
	pacingWindows = 2000
)

// pacing measures G7, G8 and G9, with one run of constant and one of random gaps.
func pacing(l *lab) (found, error) {
	out := found{}
	d := time.Minute
	if l.quick {
		d = 10 * time.Second
	}
	cfg := runplan.Sim{TTFT: runplan.Duration(tokenGap)}
	plan := func(arrival string) runplan.RunPlan { return rig.Plan(1, open(pacingRate, arrival, d)) }
	err := l.try(trial{sim: cfg, plan: plan("constant")}, func(r result) error { return l.measureConstant(r, out, d) })
	if err != nil {
		return nil, err
	}
	err = l.try(trial{sim: cfg, plan: plan("poisson")}, func(r result) error { return l.measurePoisson(r, out, d) })
	return out, err
}

func (l *lab) measureConstant(r result, out found, d time.Duration) error {
	_, pairs, lost, err := r.pairs()
	if err != nil {
		return err
	}
	late := truth.Quantiles(truth.SendLateness(pairs, r.Load.AnchorMonoNS), 50, 99, 99.9)
	out["G7 lateness of first byte p50 at 1 000/s"] = r.value(late[0])
	out["G7 lateness of first byte p99"] = r.value(late[1])
	out["G7 lateness of first byte p99.9"] = r.value(late[2])
	log, err := truth.ReadLog(r.truth)
	if err != nil {
		return err
	}
	at := truth.Arrivals(loads(log))
	want := int(pacingRate * d.Seconds())
	achieved := float64(len(at)-1) / truth.Spread(at)
	out["G8 achieved rate off the requested"] = r.value(100 * math.Abs(achieved/pacingRate-1))
	out["G8 lost requests"] = r.value(math.Abs(float64(want-len(pairs))) + float64(lost))
	out["G9 constant: CV of gaps"] = r.value(truth.CV(truth.Gaps(at)))
	l.say("constant: %d arrivals of %d, late p50 %.1f p99 %.1f p99.9 %.1f µs", len(at), want, late[0], late[1], late[2])
	return nil
}

func (l *lab) measurePoisson(r result, out found, d time.Duration) error {
	log, err := truth.ReadLog(r.truth)
	if err != nil {
		return err
	}
	at := truth.Arrivals(loads(log))
	gaps := truth.Gaps(at)
	index, windows := truth.Dispersion(at, d.Seconds()/(pacingWindows+1))
	add := func(key string, v float64) {
		x := r.value(v)
		if l.quick {
			x.notes = append(x.notes, fmt.Sprintf("%d arrivals only: chance alone may miss it", len(at)))
		}
		out[key] = x
	}
	add("G9 Poisson: p-value of KS", truth.KolmogorovSmirnov(gaps, 1.0/pacingRate))
	add("G9 Poisson: largest autocorrelation, lags 1-20", truth.Autocorrelation(gaps, 20))
	add("G9 Poisson: dispersion index, distance from 1", math.Abs(index-1))
	l.say("poisson: %d arrivals, dispersion %.3f over %d windows", len(at), index, windows)
	return nil
}

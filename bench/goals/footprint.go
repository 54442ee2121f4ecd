package main

import (
	"debug/elf"
	"fmt"
	"os"
	"slices"
	"time"

	"bflow.dev/bflow/bench/rig"
	"bflow.dev/bflow/bench/truth"
	"bflow.dev/bflow/runplan"
)

// megabyte of the goals.
const megabyte = 1e6

// thousandStreams measures the first half of G11.
func thousandStreams(l *lab) (found, error) {
	out := found{}
	stage := closed(1000, l.n(3000))
	stage.Ramp = runplan.Duration(tokenGap)
	err := l.try(trial{sim: streaming(), plan: rig.Plan(200, stage)}, func(r result) error {
		out["G11 peak RSS at 1 000 streams"] = value{v: float64(r.PeakRSS) / megabyte, disturbed: r.disturbed}
		return nil
	})
	return out, err
}

// millionRequests measures the second half of G11.
func millionRequests(l *lab) (found, error) {
	out := found{}
	n := l.n(1_000_000)
	err := l.try(trial{plan: rig.Plan(1, closed(32, n)), noTruth: true}, func(r result) error {
		if got := r.stats.Requests; got < int64(n) {
			return fmt.Errorf("the engine had %d requests, want %d", got, n)
		}
		v := value{v: float64(r.PeakRSS) / megabyte, disturbed: r.disturbed}
		if l.quick {
			v.notes = append(v.notes, fmt.Sprintf("of %d requests only", n))
		}
		out["G11 peak RSS after 1 M requests"] = v
		return nil
	})
	return out, err
}

// startUp measures G12: the median of five starts.
func startUp(l *lab) (found, error) {
	dir, free, err := l.folder()
	if err != nil {
		return nil, err
	}
	defer free()
	quiet := rig.AwaitQuiet(l.ctx, l.cores, l.wait)
	e, err := rig.StartEngine(l.ctx, rig.EngineOptions{Binary: l.bins.Engine, Dir: dir, Core: l.cores.Server})
	if err != nil {
		return nil, err
	}
	var begun []int64
	for i := range 5 {
		run, err := rig.RunLoadGen(l.ctx, rig.LoadGenOptions{
			Binary: l.bins.LoadGen, Dir: fmt.Sprintf("%s/start%d", dir, i), Core: l.cores.Client, Endpoint: e.URL,
			Plan: rig.Plan(1, closed(1, 1)),
		})
		if err != nil {
			_, _ = e.Stop()
			return nil, err
		}
		begun = append(begun, run.Started)
	}
	if _, err := e.Stop(); err != nil {
		return nil, err
	}
	log, err := truth.ReadLog(e.Truth)
	if err != nil {
		return nil, err
	}
	arrivals := loads(log)
	if len(arrivals) != len(begun) {
		return nil, fmt.Errorf("%d requests arrived in %d starts", len(arrivals), len(begun))
	}
	var took []float64
	for i, r := range arrivals { // one after the other, so in the order of the starts
		took = append(took, float64(r.Arrival-begun[i])/float64(time.Millisecond))
	}
	l.say("starts: %.1f ms", slices.Sorted(slices.Values(took)))
	return found{"G12 exec to first request byte": {v: middle(took), disturbed: !quiet}}, nil
}

// size measures G13: the binary, which has to be static, and the certificates that its image carries.
func size(l *lab) (found, error) {
	info, err := os.Stat(l.bins.LoadGen)
	if err != nil {
		return nil, fmt.Errorf("measuring the binary: %w", err)
	}
	v := value{v: float64(info.Size())}
	if ca, err := os.Stat("/etc/ssl/certs/ca-certificates.crt"); err == nil {
		v.v += float64(ca.Size())
	} else {
		v.notes = append(v.notes, "without a CA bundle: this machine has none")
	}
	v.v /= megabyte
	static, err := isStatic(l.bins.LoadGen)
	if err == nil && !static {
		v.void = "the binary is not static"
	}
	return found{"G13 static binary and CA bundle": v}, err
}

// isStatic tells that a program needs neither an interpreter nor a shared library.
func isStatic(path string) (bool, error) {
	f, err := elf.Open(path)
	if err != nil {
		return false, fmt.Errorf("reading the binary: %w", err)
	}
	defer f.Close()
	libs, err := f.ImportedLibraries()
	if err != nil {
		return false, fmt.Errorf("reading the libraries of the binary: %w", err)
	}
	interpreted := slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	return len(libs) == 0 && !interpreted, nil
}

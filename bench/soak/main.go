// Command soak simulates 24 hours in a few minutes: it sends millions of one-event requests at a constant rate
// through one load-gen. Memory must stay within 4 % of its level after the first tenth of the requests, and the
// numbers of threads and file descriptors must not grow.
//
// In the first tenth the engine is suspended once. The requests that pile up are the most that load-gen ever holds,
// and it keeps that memory. Otherwise the first stall of the host would look like growth.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"bflow.dev/bflow/bench/rig"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var s soak
	flag.IntVar(&s.requests, "requests", 2_000_000, "total number of requests")
	flag.Float64Var(&s.rate, "rate", 5000, "requests per second")
	flag.StringVar(&s.bin, "bin", "", "folder with sim-engine and load-gen; empty = build them")
	flag.StringVar(&s.work, "work", "", "folder for the run, with 1 GB of free space; empty = a temporary folder")
	flag.Parse()
	ok, err := s.run(ctx, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// soak is the load.
type soak struct {
	requests  int
	rate      float64
	bin, work string
}

// run puts the load and prints the verdict; false when it is bad.
func (s soak) run(ctx context.Context, out io.Writer) (bool, error) {
	dir, err := os.MkdirTemp(s.work, "bflow-soak-")
	if err != nil {
		return false, fmt.Errorf("making a folder for the run: %w", err)
	}
	defer os.RemoveAll(dir)
	bins := rig.Binaries{Engine: filepath.Join(s.bin, "sim-engine"), LoadGen: filepath.Join(s.bin, "load-gen")}
	if s.bin == "" {
		if bins, err = rig.Build(ctx, filepath.Join(dir, "bin")); err != nil {
			return false, err
		}
	}
	cores, err := rig.PickCores()
	if err != nil {
		return false, err
	}
	e, err := rig.StartEngine(ctx, rig.EngineOptions{Binary: bins.Engine, Dir: dir, Core: cores.Server, NoTruth: true})
	if err != nil {
		return false, err
	}
	samples, r, err := s.load(ctx, dir, bins, cores, e)
	_, serr := e.Stop()
	if err := errors.Join(err, serr); err != nil {
		return false, err
	}
	return s.judge(out, samples, r)
}

// length is the time that the load takes.
func (s soak) length() time.Duration {
	return time.Duration(float64(s.requests) / s.rate * float64(time.Second))
}

// stall is how long the engine is suspended: longer than the stalls of a host that is fit for measurements.
func (s soak) stall() time.Duration { return min(time.Second, s.length()/40) }

// load runs load-gen and takes two hundred samples of it, those after its start and before its end.
func (s soak) load(
	ctx context.Context, dir string, bins rig.Binaries, cores rig.Cores, e *rig.Engine,
) ([]sample, rig.LoadGenRun, error) {
	stage := runplan.Stage{Name: "soak", Measure: true, Shape: runplan.ShapeOpen, Arrival: "constant", Rate: s.rate,
		Requests: s.requests,
		Duration: runplan.Duration(s.length() + time.Minute)}
	p, err := rig.StartLoadGen(ctx, rig.LoadGenOptions{
		Binary: bins.LoadGen, Dir: dir, Core: cores.Client, Endpoint: e.URL, Plan: rig.Plan(1, stage),
	})
	if err != nil {
		return nil, rig.LoadGenRun{}, err
	}
	begin, every := time.Now(), s.length()/200
	stall := time.After(s.length() / 20)
	tick := time.NewTicker(every)
	defer tick.Stop()
	var samples []sample
	for time.Since(begin) < s.length()-every {
		select {
		case <-ctx.Done():
			_, _ = p.Wait()
			return nil, rig.LoadGenRun{}, ctx.Err()
		case <-stall:
			if err := e.Pause(s.stall()); err != nil {
				p.Interrupt()
				_, _ = p.Wait()
				return nil, rig.LoadGenRun{}, err
			}
		case <-tick.C:
		}
		if m, alive := rig.ReadMemory(p.Pid); alive {
			samples = append(samples, sample{time.Since(begin), m})
		}
	}
	r, err := p.Wait()
	return samples, r, err
}

func (s soak) judge(out io.Writer, samples []sample, r rig.LoadGenRun) (bool, error) {
	base, faults, err := verdict(samples)
	if err != nil {
		return false, err
	}
	if len(r.Stages) != 1 {
		return false, fmt.Errorf("load-gen wrote %d stages, want 1", len(r.Stages))
	}
	stage := r.Stages[0]
	ok := stage.Counts.ByStatus[report.StatusOK]
	if ok != s.requests {
		faults = append(faults, fmt.Sprintf("%d of %d requests are ok: %v", ok, s.requests, stage.Counts.ByStatus))
	}
	last := samples[len(samples)-1]
	fmt.Fprintf(out, "%d requests at %.0f/s (achieved %.1f/s) in %v; CPU %v; exit %v after the load\n", ok, s.rate,
		stage.Rates["achieved_rate"],
		s.length(), r.CPU().Round(time.Millisecond), (r.Wall() - s.length()).Round(time.Millisecond))
	fmt.Fprintf(out, "memory: %.1f MB after the first tenth, %.1f MB at the end, peak %.1f MB with the "+
		"writing of rows\n", mb(base.rss), mb(last.RSS), mb(r.PeakRSS))
	fmt.Fprintf(out, "threads: %d then, %d at the end; descriptors: %d then, %d at the end\n", base.threads,
		last.Threads, base.descriptors, last.Descriptors)
	for _, f := range faults {
		fmt.Fprintln(out, "FAULT:", f)
	}
	if len(faults) > 0 {
		fmt.Fprintln(out, "verdict: fail")
		return false, nil
	}
	fmt.Fprintln(out, "verdict: pass")
	return true, nil
}

func mb(bytes int64) float64 { return float64(bytes) / 1e6 }

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/bench/rig"
	"bflow.dev/bflow/bench/truth"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim"
)

// maxLateness is the p99 of the engine's own lateness above which a figure is void.
const maxLateness = 50 * time.Microsecond

// lab is where the measurements run.
type lab struct {
	ctx   context.Context
	bins  rig.Binaries
	cores rig.Cores
	dir   string // every run has a folder in it
	keep  bool   // the folders
	quick bool   // shorter measurements, for a look
	wait  time.Duration
	log   io.Writer
	runs  int
}

func (l *lab) say(format string, args ...any) {
	fmt.Fprintf(l.log, "  "+format+"\n", args...)
}

// n is a number of things to do: a tenth when it has to be quick.
func (l *lab) n(full int) int {
	if l.quick {
		return max(1, full/10)
	}
	return full
}

// trial is one run of load-gen against an engine of its own.
type trial struct {
	sim     runplan.Sim
	plan    runplan.RunPlan
	noTruth bool
	clock   string                    // whose stamps load-gen takes; empty = the kernel's
	during  func(e *rig.Engine) error // called once load-gen runs
}

func (t trial) args() []string {
	if t.clock == "" {
		return nil
	}
	return []string{"--clock", t.clock}
}

// result is what a trial left.
type result struct {
	rig.LoadGenRun
	stats     sim.Stats // of the engine, after the load
	truth     string
	disturbed bool
}

// folder makes the next folder of a run; free removes it.
func (l *lab) folder() (dir string, free func(), err error) {
	l.runs++
	dir = filepath.Join(l.dir, fmt.Sprintf("run%03d", l.runs))
	free = func() {
		if !l.keep {
			os.RemoveAll(dir)
		}
	}
	return dir, free, os.MkdirAll(dir, 0o755)
}

// try runs t, hands the result to read while its files are there, and removes them.
func (l *lab) try(t trial, read func(result) error) error {
	dir, free, err := l.folder()
	if err != nil {
		return err
	}
	defer free()
	quiet := rig.AwaitQuiet(l.ctx, l.cores, l.wait)
	meter := rig.NewMeter(l.cores)
	e, err := rig.StartEngine(l.ctx, rig.EngineOptions{
		Binary: l.bins.Engine, Dir: dir, Core: l.cores.Server, Sim: t.sim, NoTruth: t.noTruth,
	})
	if err != nil {
		return err
	}
	r, used, err := l.load(dir, e, t)
	if err != nil {
		return err
	}
	others := meter.Others(used + r.CPU())
	r.disturbed = !quiet || others > rig.MaxBusy
	if r.disturbed {
		l.say("disturbed: quiet before %v, others took %.1f %% of both cores", quiet, 100*others)
	}
	return read(r)
}

// load runs load-gen against e and stops e; used is the engine's processor time.
func (l *lab) load(dir string, e *rig.Engine, t trial) (r result, used time.Duration, err error) {
	p, err := rig.StartLoadGen(l.ctx, rig.LoadGenOptions{
		Binary: l.bins.LoadGen, Dir: dir, Core: l.cores.Client, Endpoint: e.URL, Plan: t.plan, Args: t.args(),
	})
	if err == nil && t.during != nil {
		err = t.during(e)
	}
	if p != nil && p.Process != nil {
		var werr error
		if r.LoadGenRun, werr = p.Wait(); err == nil {
			err = werr
		}
	}
	if err == nil {
		r.stats, err = e.Stats(l.ctx)
	}
	usage, serr := e.Stop()
	if err == nil {
		err = serr
	}
	r.truth = e.Truth
	return r, usage.CPU(), err
}

// late says why the figures of r are void, "" where the engine kept its deadlines.
func (r result) late() string {
	if p99 := time.Duration(r.stats.Lateness.P99); p99 > maxLateness {
		return fmt.Sprintf("the engine was late itself: p99 %v, the limit is %v", p99, maxLateness)
	}
	return ""
}

// value makes a value of this result.
func (r result) value(v float64) value {
	return value{v: v, void: r.late(), disturbed: r.disturbed, notes: r.doubts()}
}

// doubts says what load-gen itself found wrong with the measurement.
func (r result) doubts() []string {
	var words []string
	for _, s := range r.Stages {
		for _, c := range s.Checks {
			if !c.OK && !c.Note && !slices.Contains(words, c.Reason) {
				words = append(words, c.Reason)
			}
		}
	}
	if len(words) == 0 {
		return nil
	}
	return []string{"load-gen itself says: " + strings.Join(words, ", ")}
}

// pairs reads both sides and joins what was measured. lost counts requests without a row.
func (r result) pairs() (clock string, pairs []truth.Pair, lost int, err error) {
	log, err := truth.ReadLog(r.truth)
	if err != nil {
		return "", nil, 0, err
	}
	header, rows, err := report.ReadRows(r.Rows)
	if err != nil {
		return "", nil, 0, err
	}
	pairs, lost, err = truth.Join(rows, loads(log))
	return header.Clock, truth.Measured(pairs), lost, err
}

// loads keeps the records of requests that belong to a stage.
func loads(log []sim.Record) []sim.Record {
	var out []sim.Record
	for _, r := range log {
		if strings.HasPrefix(r.RequestID, "r-1-m0-r0-s") {
			out = append(out, r)
		}
	}
	return out
}

// floorTotals is what the floor client prints.
type floorTotals struct {
	Requests, Events, Bytes int64
	CPU                     time.Duration `json:"-"`
}

// floor runs the floor client against an engine of its own.
func (l *lab) floor(cfg runplan.Sim, args ...string) (t floorTotals, err error) {
	dir, free, err := l.folder()
	if err != nil {
		return t, err
	}
	defer free()
	rig.AwaitQuiet(l.ctx, l.cores, l.wait)
	e, err := rig.StartEngine(l.ctx, rig.EngineOptions{Binary: l.bins.Engine, Dir: dir, Core: l.cores.Server, Sim: cfg})
	if err != nil {
		return t, err
	}
	var out strings.Builder
	u, err := rig.Run(l.ctx, rig.Command{
		Path: l.bins.Floor, Args: append([]string{"--url", e.URL}, args...), Core: l.cores.Client,
		Stdout: &out, Stderr: l.log,
	})
	if _, serr := e.Stop(); err == nil {
		err = serr
	}
	if err == nil && u.ExitCode != 0 {
		err = fmt.Errorf("the floor client ended with code %d", u.ExitCode)
	}
	if err == nil {
		err = json.Unmarshal([]byte(out.String()), &t)
	}
	t.CPU = u.CPU()
	return t, err
}

// closed is a measured closed loop of so many requests.
func closed(slots, requests int) runplan.Stage {
	return runplan.Stage{Name: "closed", Measure: true, Shape: runplan.ShapeClosed, Concurrency: slots, Requests: requests}
}

// open is a measured stage at a rate.
func open(rate float64, arrival string, d time.Duration) runplan.Stage {
	return runplan.Stage{
		Name: "open", Measure: true, Shape: runplan.ShapeOpen, Rate: rate, Arrival: arrival,
		Duration: runplan.Duration(d),
	}
}

// streaming is an engine that answers after 50 ms with a token every 10 ms.
func streaming() runplan.Sim {
	return runplan.Sim{TTFT: runplan.Duration(50 * time.Millisecond), ITL: runplan.Duration(tokenGap)}
}

// tokenGap is the time between the tokens of a stream.
const tokenGap = 10 * time.Millisecond

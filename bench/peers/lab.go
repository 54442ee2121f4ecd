package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"bflow.dev/bflow/bench/rig"
	"bflow.dev/bflow/bench/truth"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/sim"
)

// lab is where everything runs.
type lab struct {
	ctx   context.Context
	bins  rig.Binaries
	cores rig.Cores
	dir   string
	wait  time.Duration
	log   io.Writer
}

func (l *lab) say(format string, args ...any) { fmt.Fprintf(l.log, format+"\n", args...) }

// client is a load tool.
type client interface {
	name() string
	// run puts the load on the engine at url; everything it writes lies in dir.
	run(dir, url string, of load) (outcome, error)
	// records keeps those of the load: a client may send other requests before.
	records(log []sim.Record) []sim.Record
}

// outcome is what a client used and claims.
type outcome struct {
	rig.Usage
	cpu    cpuCurve
	memory int64 // peak of anonymous memory of the process and all its children, bytes
	claims claims
}

// claims are what a client says of a load.
type claims struct {
	rows           []report.Row // of requests that it counts as answered, with what it says of their time
	ok, errors     int          // requests that it counts as such
	cut            int          // that it broke off at the end, and says so
	itlP99         float64      // ms, of its summary; 0 = it has none
	gaps           bool         // rows hold every gap
	summary        bool         // it has numbers for the load as a whole
	noticedLengths bool         // it remarks that answers have not the length that was asked
}

// cell is one load by one client.
type cell struct {
	load
	outcome
	log       []sim.Record
	late      time.Duration // p99 of the engine's own lateness
	disturbed bool
	err       error
}

// runAll runs every load with every client.
func (l *lab) runAll(clients []client, of []load) map[string]map[string]*cell {
	cells := map[string]map[string]*cell{}
	for _, ld := range of {
		cells[ld.name] = map[string]*cell{}
		for _, c := range clients {
			if l.ctx.Err() != nil {
				return cells
			}
			begin := time.Now()
			cl := l.run(c, ld)
			cells[ld.name][c.name()] = cl
			l.say("%-12s %-15s %5.1f s  %s", ld.name, c.name(), time.Since(begin).Seconds(), cl.remark())
		}
	}
	return cells
}

func (c *cell) remark() string {
	if c.err != nil {
		return c.err.Error()
	}
	words := 0
	for _, r := range c.log {
		words += r.PromptTokens
	}
	text := fmt.Sprintf("%d requests of %d words, %d ok, %d errors, engine late by %v (p99)", len(c.log),
		words/max(1, len(c.log)), c.claims.ok, c.claims.errors, c.late)
	if c.disturbed {
		text += ", disturbed"
	}
	return text
}

// limit is the longest that one client may take for one load.
const limit = 3 * time.Minute

// run runs one load with one client against an engine of its own.
func (l *lab) run(c client, of load) *cell {
	out := &cell{load: of}
	dir := filepath.Join(l.dir, of.name, c.name())
	if out.err = os.MkdirAll(dir, 0o755); out.err != nil {
		return out
	}
	quiet := rig.AwaitQuiet(l.ctx, l.cores, l.wait)
	meter := rig.NewMeter(l.cores)
	e, err := rig.StartEngine(l.ctx, rig.EngineOptions{Binary: l.bins.Engine, Dir: dir, Core: l.cores.Server, Sim: of.sim})
	if err != nil {
		out.err = err
		return out
	}
	out.outcome, out.err = c.run(dir, e.URL, of)
	if stats, err := e.Stats(l.ctx); err == nil {
		out.late = time.Duration(stats.Lateness.P99)
	}
	used, err := e.Stop()
	if out.err != nil || err != nil {
		out.err = firstError(out.err, err)
		return out
	}
	out.disturbed = !quiet || meter.Others(used.CPU()+out.CPU()) > rig.MaxBusy
	log, err := truth.ReadLog(e.Truth)
	if err != nil {
		out.err = err
		return out
	}
	if out.log = c.records(log); len(out.log) == 0 {
		out.err = fmt.Errorf("%s sent nothing", c.name())
	}
	return out
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

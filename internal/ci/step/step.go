// Package step runs the steps of the checks: independent ones in parallel, each with its own log, which is printed
// when the step ends. A failed step stops only the steps that depend on it. It must not know what a step does.
package step

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Step is a part of the checks. Names are unique.
type Step struct {
	Name  string
	Needs []string // steps that must have passed
	After []string // steps that must have ended, however
	// Run does it; what it writes to the log is printed when it ends.
	Run func(ctx context.Context, log *os.File) error
	// Skip says why there is nothing to do; such a step counts as passed.
	Skip string
	// Always says that it runs though what it needs has failed or all is interrupted, such as a step that cleans up.
	Always bool
}

// State is how a step ended.
type State string

// States of a step.
const (
	Passed      State = "passed"
	Failed      State = "failed"
	NotRun      State = "not run"    // something it needs has failed
	NotNeeded   State = "not needed" // there was nothing to do
	Interrupted State = "interrupted"
)

// Result is how a step ended and what it took. Began counts from the begin of all steps; Load is the greatest load
// average of the machine, over a minute, that was seen when it began and ended.
type Result struct {
	Name  string        `json:"name"`
	State State         `json:"state"`
	Why   string        `json:"why,omitempty"`
	Began time.Duration `json:"began_ns"`
	Took  time.Duration `json:"took_ns"`
	Load  float64       `json:"load"`
}

// Runner runs steps.
type Runner struct {
	Out  io.Writer        // progress, and the logs of ended steps
	Logs string           // folder of the logs
	Now  func() time.Time // the clock
	Load func() float64   // the load average of the machine
	// Ended is called with the result of each step, of several at once; nil = nobody asks.
	Ended func(Result)
}

// Run runs all steps and returns their results in the order of steps. When ctx ends, what runs is told to end and
// nothing but what always runs is begun.
func (r Runner) Run(ctx context.Context, steps []Step) ([]Result, error) {
	if err := check(steps); err != nil {
		return nil, err
	}
	g := &graph{
		Runner: r, begin: r.Now(), results: make([]Result, len(steps)),
		ended: make(map[string]chan struct{}, len(steps)), index: map[string]int{},
	}
	for i, s := range steps {
		g.ended[s.Name], g.index[s.Name] = make(chan struct{}), i
	}
	var all sync.WaitGroup
	for i, s := range steps {
		all.Go(func() {
			defer close(g.ended[s.Name])
			g.results[i] = g.run(ctx, s)
			if r.Ended != nil {
				r.Ended(g.results[i])
			}
		})
	}
	all.Wait()
	return g.results, nil
}

// check refuses a graph that could not come to its end.
func check(steps []Step) error {
	var seen []string
	for _, s := range steps {
		for _, before := range slices.Concat(s.Needs, s.After) {
			if !slices.Contains(seen, before) {
				return fmt.Errorf("step %q waits for %q, which does not stand before it", s.Name, before)
			}
		}
		if slices.Contains(seen, s.Name) {
			return fmt.Errorf("two steps are named %q", s.Name)
		}
		seen = append(seen, s.Name)
	}
	return nil
}

type graph struct {
	Runner
	begin   time.Time
	index   map[string]int
	ended   map[string]chan struct{}
	results []Result // one is read only after its step has ended

	print sync.Mutex
}

func (g *graph) run(ctx context.Context, s Step) Result {
	for _, before := range slices.Concat(s.Needs, s.After) {
		<-g.ended[before]
	}
	res := Result{Name: s.Name, Began: g.Now().Sub(g.begin)}
	if res.State, res.Why = g.refuse(ctx, s); res.State != "" {
		g.say("--- %s: %s: %s\n", s.Name, res.State, res.Why)
		return res
	}
	name := filepath.Join(g.Logs, strings.ReplaceAll(s.Name, " ", "-")+".log")
	log, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_TRUNC|os.O_APPEND, 0o644)
	if err != nil {
		res.State, res.Why = Failed, err.Error()
		g.say("--- %s: %s: %v\n", s.Name, res.State, err)
		return res
	}
	defer log.Close()
	g.say(">>> %s (at %s, load %.1f)\n", s.Name, clock(res.Began), g.Load())
	begin, load := g.Now(), g.Load()
	if s.Always {
		ctx = context.WithoutCancel(ctx)
	}
	err = s.Run(ctx, log)
	res.Took, res.Load, res.State = g.Now().Sub(begin), max(load, g.Load()), Passed
	if err != nil {
		res.State, res.Why = Failed, err.Error()
		if ctx.Err() != nil {
			res.State = Interrupted
		}
	}
	g.tell(res, log)
	return res
}

// refuse says why a step is not run, with a state, or neither.
func (g *graph) refuse(ctx context.Context, s Step) (State, string) {
	if s.Skip != "" {
		return NotNeeded, s.Skip
	}
	if s.Always {
		return "", ""
	}
	if err := ctx.Err(); err != nil {
		return Interrupted, context.Cause(ctx).Error()
	}
	for _, need := range s.Needs {
		if before := g.results[g.index[need]]; before.State != Passed && before.State != NotNeeded {
			return NotRun, fmt.Sprintf("it needs %q, which is %s", need, before.State)
		}
	}
	return "", ""
}

func (g *graph) say(format string, args ...any) {
	g.print.Lock()
	defer g.print.Unlock()
	fmt.Fprintf(g.Out, format, args...)
}

// tell prints the log of a step that has ended, as one piece.
func (g *graph) tell(res Result, log *os.File) {
	g.print.Lock()
	defer g.print.Unlock()
	fmt.Fprintf(g.Out, "\n=== %s: %s after %s (load %.1f)\n", res.Name, res.State, clock(res.Took), res.Load)
	if _, err := log.Seek(0, io.SeekStart); err == nil {
		_, _ = io.Copy(g.Out, log) // whoever cannot be printed to has no use for an error
	}
	if res.Why != "" {
		fmt.Fprintf(g.Out, "=== %s: %s: %s\n", res.Name, res.State, res.Why)
	}
	fmt.Fprintln(g.Out)
}

// clock writes minutes and seconds.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

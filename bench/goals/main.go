package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"bflow.dev/bflow/bench/rig"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "goals:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	goals   string
	repeats int
	bin     string
	json    string
	work    string
	keep    bool
	quick   bool
	strict  bool
	wait    time.Duration
}

func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("goals", flag.ContinueOnError)
	fs.StringVar(&o.goals, "goal", "", "goals to measure, such as G5,G7; empty = all")
	fs.IntVar(&o.repeats, "repeats", 3, "repeats of each measurement")
	fs.StringVar(&o.bin, "bin", "", "folder with sim-engine, load-gen and floor; empty = build them")
	fs.StringVar(&o.json, "json", "", "file to also write the table to, as JSON")
	fs.StringVar(&o.work, "work", "", "folder for runs, with 1 GB of free space; empty = a temporary folder")
	fs.BoolVar(&o.keep, "keep", false, "keep the run directories")
	fs.BoolVar(&o.quick, "quick", false, "run short measurements, to check that all of them work")
	fs.BoolVar(&o.strict, "strict", false, "exit with 1 if a goal is missed")
	fs.DurationVar(&o.wait, "wait", time.Minute, "how long to wait for an idle machine before each measurement")
	return o, fs.Parse(args)
}

// run measures and prints; false when a goal is missed and that was to be told.
func run(ctx context.Context, args []string, out, log io.Writer) (bool, error) {
	o, err := parse(args)
	if err != nil {
		return false, err
	}
	l, done, err := o.lab(ctx, log)
	if err != nil {
		return false, err
	}
	defer done()
	values, problems := o.measure(l)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	var lines []line
	for _, f := range figures() {
		if o.wants(f.goal) {
			line := judge(f, values[f.key()])
			for _, p := range problems[f.goal] {
				line.note(p)
			}
			lines = append(lines, line)
		}
	}
	fmt.Fprintf(out, "client on core %d, engine on core %d%s, %d repeats\n", l.cores.Client, l.cores.Server,
		map[bool]string{true: " (which share a physical core)"}[l.cores.Shared], o.repeats)
	print(out, lines)
	fails := slices.ContainsFunc(lines, func(l line) bool { return l.Verdict == missed })
	return !o.strict || !fails, o.write(lines)
}

func (o options) write(lines []line) error {
	if o.json == "" {
		return nil
	}
	text, err := json.MarshalIndent(lines, "", "  ")
	if err == nil {
		err = os.WriteFile(o.json, append(text, '\n'), 0o644)
	}
	return err
}

// wants tells whether a goal is to be measured.
func (o options) wants(goal string) bool {
	return o.goals == "" || slices.Contains(strings.Split(o.goals, ","), goal)
}

// lab prepares the folders and the programs.
func (o options) lab(ctx context.Context, log io.Writer) (l *lab, done func(), err error) {
	cores, err := rig.PickCores()
	if err != nil {
		return nil, nil, err
	}
	dir := o.work
	done = func() {}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "bflow-goals-"); err != nil {
			return nil, nil, fmt.Errorf("making a folder for the runs: %w", err)
		}
		if !o.keep {
			done = func() { os.RemoveAll(dir) }
		}
	}
	bins := rig.Binaries{
		Engine: filepath.Join(o.bin, "sim-engine"), LoadGen: filepath.Join(o.bin, "load-gen"),
		Floor: filepath.Join(o.bin, "floor"),
	}
	if o.bin == "" {
		if bins, err = rig.Build(ctx, filepath.Join(dir, "bin")); err != nil {
			done()
			return nil, nil, err
		}
	}
	return &lab{ctx: ctx, bins: bins, cores: cores, dir: dir, keep: o.keep, quick: o.quick, wait: o.wait,
		log: log}, done, nil
}

// measure runs the groups whose goals are wanted. A group that fails leaves its reason with its goals.
func (o options) measure(l *lab) (map[string][]value, map[string][]string) {
	values, problems := map[string][]value{}, map[string][]string{}
	for _, g := range groups() {
		if !slices.ContainsFunc(g.goals, o.wants) {
			continue
		}
		for i := range o.repeats {
			if l.ctx.Err() != nil || g.once && i > 0 {
				break
			}
			fmt.Fprintf(l.log, "%s, repeat %d\n", strings.Join(g.goals, " "), i+1)
			got, err := g.run(l)
			if err == nil && got.void() {
				l.say("void, so once more")
				got, err = g.run(l)
			}
			if err != nil {
				l.say("failed: %v", err)
				for _, goal := range g.goals {
					problems[goal] = append(problems[goal], err.Error())
				}
			}
			for key, v := range got {
				values[key] = append(values[key], v)
			}
		}
	}
	return values, problems
}

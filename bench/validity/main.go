package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the flags.
type options struct {
	seed   uint64
	stages int
	long   time.Duration
	file   string
	busy   bool
	check  bool
}

func parseFlags(args []string, errs io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("validity", flag.ContinueOnError)
	f.SetOutput(errs)
	f.Uint64Var(&o.seed, "seed", 0, "random seed of the scenes; 0 = derived from the time")
	f.IntVar(&o.stages, "stages", goalStages, "number of stages")
	f.DurationVar(&o.long, "for", 3*time.Hour, "stop after this long; the next call resumes")
	f.StringVar(&o.file, "results", "",
		"file to keep results in and to resume from (default: named after the seed; none with -check)")
	f.BoolVar(&o.check, "check", false, "fail only if so many stages are misjudged that the goals are unlikely to be "+
		"met, not if too few stages are invalid")
	f.BoolVar(&o.busy, "busy", false, "run as a busy process until standard input ends")
	return o, f.Parse(args)
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	o, err := parseFlags(args, errs)
	if err != nil {
		return 2
	}
	if o.busy {
		beBusy(os.Stdin)
		return 0
	}
	met, err := o.measure(ctx, out, errs)
	switch {
	case err != nil:
		fmt.Fprintf(errs, "validity: %v\n", err)
		return 1
	case !met:
		return 1
	}
	return 0
}

// measure runs the scenes that are missing and prints the table; false where the goals are missed.
func (o *options) measure(ctx context.Context, out, errs io.Writer) (bool, error) {
	results, err := o.begin()
	if err != nil {
		return false, err
	}
	l, err := newLab(ctx, errs)
	if err != nil {
		return false, err
	}
	defer l.close()
	end := time.Now().Add(o.long)
	for len(results) < o.stages && time.Now().Before(end) && ctx.Err() == nil {
		r, err := l.try(draw(o.seed, len(results)))
		if err != nil {
			return false, errors.Join(err, ctx.Err())
		}
		if results = append(results, r); ctx.Err() == nil {
			err = o.keep(r)
		}
		if err != nil {
			return false, err
		}
	}
	all := print(out, o.seed, results)
	enough := len(results) >= o.stages && (o.check || all.wrong >= goalWrong)
	if !enough {
		fmt.Fprintf(out, "not enough yet: %d of %d stages, %d of %d that are wrong; go on with -results %s\n",
			len(results), o.stages, all.wrong, goalWrong, o.file)
	}
	return all.met(o.check) && enough, ctx.Err()
}

// begin draws a seed where none is given and nothing is gone on with, and returns what an earlier call has kept.
func (o *options) begin() ([]result, error) {
	if _, err := os.Stat(o.file); o.seed == 0 && err != nil {
		o.seed = uint64(time.Now().UnixNano())
	}
	if o.file == "" && !o.check {
		o.file = fmt.Sprintf("validity-%d.jsonl", o.seed)
	}
	return o.read()
}

// head is the first line of a file of results.
type head struct {
	Seed uint64 `json:"seed"`
}

// read returns what an earlier call has kept, and takes its seed.
func (o *options) read() ([]result, error) {
	if o.file == "" {
		return nil, nil
	}
	f, err := os.Open(o.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, o.append(head{o.seed})
	}
	if err != nil {
		return nil, fmt.Errorf("reading earlier results: %w", err)
	}
	defer f.Close()
	d := json.NewDecoder(bufio.NewReader(f))
	var h head
	if err := d.Decode(&h); err != nil {
		return nil, fmt.Errorf("reading %q: %w", o.file, err)
	}
	if o.seed != 0 && o.seed != h.Seed {
		return nil, fmt.Errorf("%q holds the results of seed %d, not of %d", o.file, h.Seed, o.seed)
	}
	o.seed = h.Seed
	var out []result
	for {
		var r result
		err := d.Decode(&r)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading result %d of %q: %w", len(out), o.file, err)
		}
		out = append(out, r)
	}
}

func (o *options) keep(r result) error { return o.append(r) }

func (o *options) append(v any) error {
	if o.file == "" {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing a result: %w", err)
	}
	f, err := os.OpenFile(o.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("keeping a result: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}

// busyAtMost ends a busy process that nobody has ended: several times what a stage takes.
const busyAtMost = 3 * time.Minute

// beBusy takes the processor until r ends.
func beBusy(r io.Reader) {
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, r)
		close(done)
	}()
	over := time.NewTimer(busyAtMost)
	defer over.Stop()
	for n := 0; ; n++ {
		if n%(1<<20) == 0 {
			select {
			case <-done:
				return
			case <-over.C:
				return
			default:
			}
		}
	}
}

package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/profiles"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runplan/literal"
	"bflow.dev/bflow/tasks/step"
)

// fileFlags are the flags of every command that reads experiments.
func fileFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringSliceFlag{Name: "profiles", Aliases: []string{"profiles-dir"}, Usage: "folder with your own profiles; repeatable, later folders take precedence"},
		&cli.StringSliceFlag{Name: "set", Usage: "PATH=VALUE: override a field; PATH is dotted and starts below spec, VALUE is YAML, and a list makes an axis; repeatable"},
		&cli.BoolFlag{Name: "lenient", Usage: "report unknown keys as warnings, not errors"},
	}, more...)
}

// planFlags are the flags of every command that resolves experiments.
func planFlags(more ...cli.Flag) []cli.Flag {
	return append(fileFlags(
		&cli.IntFlag{Name: "max-points", Value: plan.DefaultMaxPoints, Usage: "reject an experiment with more runs than this"},
		&cli.StringSliceFlag{Name: "pin", Usage: "REFERENCE=sha256:...: use this digest for an image; repeatable"},
		lockFlag(),
		&cli.StringFlag{Name: "image-prefix", Usage: "registry and path of the task images"},
	), more...)
}

// input is what a command was given: files that were read without an error.
type input struct {
	set *spec.Set
	sum string // sha256 over the text of the files and --set
}

// maxInput bounds a file of experiments or profiles, which are some kilobytes.
const maxInput = 16 << 20

// reader reads files and sums what it reads.
func reader(ctx context.Context, in io.Reader, sum io.Writer) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		read := func() ([]byte, error) { return bounded.ReadFile(name, maxInput) }
		if name == "-" {
			read = func() ([]byte, error) { return bounded.ReadAll(in, maxInput) }
		} else if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			data, err := read()
			_, _ = sum.Write(data) // a hash never fails
			return data, err
		}
		data, err := whileAsked(ctx, read)
		_, _ = sum.Write(data)
		return data, err
	}
}

// whileAsked is read, left alone when ctx ends: a terminal or a pipe may have nothing to say for ever.
func whileAsked(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type answer struct {
		data []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		data, err := read()
		answers <- answer{data, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case a := <-answers:
		return a.data, a.err
	}
}

// readFiles loads the files a command names. Problems go to s.Err; an error among them ends the command with code 2.
func readFiles(c *cli.Context, s Streams, opt spec.Options) (input, error) {
	if c.NArg() == 0 {
		return input{}, step.Usagef("reading arguments of %q: want at least one file, or - for standard input", c.Command.FullName())
	}
	opt.ProfileDirs, opt.Set, opt.Lenient = c.StringSlice("profiles"), c.StringSlice("set"), c.Bool("lenient")
	in, found := loadFiles(c.Context, opt, s.In, c.Args().Slice()...)
	if c.Err() != nil && found.Err() != nil {
		return input{}, step.Exit(contract.ExitInterrupted, errors.New("reading files: interrupted"))
	}
	return in, tell(s, found)
}

// loadFiles reads files; - stands for stdin.
func loadFiles(ctx context.Context, opt spec.Options, stdin io.Reader, names ...string) (input, problem.List) {
	sum := sha256.New()
	opt.Shipped, opt.ReadFile = profiles.FS, reader(ctx, stdin, sum)
	set, found := spec.Load(opt, names...)
	for _, v := range opt.Set {
		fmt.Fprintf(sum, "\x00%s", v)
	}
	return input{set: set, sum: "sha256:" + hex.EncodeToString(sum.Sum(nil))}, found
}

// tell prints problems and turns errors among them into exit code 2.
func tell(s Streams, found problem.List) error {
	found.Sort()
	found = slices.Compact(found) // an experiment is read once for its axes and once for its points
	for _, p := range found {
		if p.Warning {
			fmt.Fprintf(s.Err, "warning: %s\n", p.Error())
		} else {
			fmt.Fprintln(s.Err, p.Error())
		}
	}
	if found.Err() != nil {
		return silently(contract.ExitUsage)
	}
	return nil
}

// matrices resolves every experiment that was read. Each is walked once, so that nothing is printed of one that is wrong
// further on.
func matrices(c *cli.Context, s Streams, in input) ([]*plan.Matrix, error) {
	opt, err := planOptions(c)
	if err != nil {
		return nil, err
	}
	return expand(c, s, in, opt)
}

func expand(c *cli.Context, s Streams, in input, opt plan.Options) ([]*plan.Matrix, error) {
	return expandAll(s, in, opt, c.Args().First())
}

// expandAll is expand for what came from a file called from.
func expandAll(s Streams, in input, opt plan.Options, from string) ([]*plan.Matrix, error) {
	var all []*plan.Matrix
	var found problem.List
	for _, p := range in.set.RunPlans {
		if err := runplan.Move(&p.Plan, opt.Namespace); err != nil {
			found.Add(p.Problem("target.namespace", "%v", err))
		}
	}
	for _, e := range in.set.Experiments {
		m, p := plan.Expand(e, in.set.Catalogue, opt)
		found.Add(p...)
		if m != nil {
			found.Add(m.Check()...)
			all = append(all, m)
		}
	}
	if err := tell(s, found); err != nil {
		return nil, err
	}
	if len(all)+len(in.set.RunPlans) == 0 {
		return nil, step.Usagef("planning %s: it contains no document of kind Experiment", from)
	}
	return all, nil
}

func planOptions(c *cli.Context) (plan.Options, error) {
	pins, err := plan.ParsePins(c.StringSlice("pin"))
	if err != nil {
		return plan.Options{}, step.Exit(contract.ExitUsage, err)
	}
	opt := plan.Options{MaxPoints: c.Int("max-points"), Pins: pins, ImagePrefix: c.String("image-prefix"), Version: step.Version,
		Namespace: c.String("namespace"), Lenient: c.Bool("lenient")}
	opt.Lock, err = imageLock(c)
	return opt, err
}

// stream walks every plan in order, those given as documents last. The first problem ends it.
func stream(in input, all []*plan.Matrix) iter.Seq2[*runplan.RunPlan, error] {
	return func(yield func(*runplan.RunPlan, error) bool) {
		for _, m := range all {
			for p, found := range m.Plans() {
				if err := found.Err(); err != nil {
					yield(nil, step.Exit(contract.ExitUsage, err))
					return
				}
				if !yield(p, nil) {
					return
				}
			}
		}
		for _, p := range in.set.RunPlans {
			if !yield(&p.Plan, nil) {
				return
			}
		}
	}
}

// collectPlans is the whole of stream.
func collectPlans(in input, all []*plan.Matrix) ([]*runplan.RunPlan, error) {
	var plans []*runplan.RunPlan
	for p, err := range stream(in, all) {
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	if len(plans) == 0 {
		return nil, errors.New("planning: no point is left")
	}
	return plans, nil
}

// secrets are the credentials that the files held literally.
func secrets(all []*plan.Matrix) []literal.Secret {
	var out []literal.Secret
	for _, m := range all {
		out = append(out, m.Secrets()...)
	}
	return out
}

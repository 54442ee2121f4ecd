// Package resolve reads files of experiments and makes plans of them, for whoever runs them. What is wrong with a file
// is returned as problems with their positions. It must not know flags.
package resolve

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

	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/profiles"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runplan/literal"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/tasks/step"
)

// Input is what a command was given: files that were read without an error.
type Input struct {
	Set *spec.Set
	Sum string // sha256 over the text of the files and --set
}

// MaxFile bounds a file of experiments or profiles, which are some kilobytes.
const MaxFile = 16 << 20

// reader reads files and sums what it reads.
func reader(ctx context.Context, in io.Reader, sum io.Writer) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		read := func() ([]byte, error) { return bounded.ReadFile(name, MaxFile) }
		if name == "-" {
			read = func() ([]byte, error) { return bounded.ReadAll(in, MaxFile) }
		} else if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			data, err := read()
			_, _ = sum.Write(data) // a hash never fails
			return data, err
		}
		data, err := WhileAsked(ctx, read)
		_, _ = sum.Write(data)
		return data, err
	}
}

// WhileAsked is read, left alone when ctx ends: a terminal or a pipe may have nothing to say for ever.
func WhileAsked(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
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

// Load reads files; - stands for stdin.
func Load(ctx context.Context, opt spec.Options, stdin io.Reader, names ...string) (Input, problem.List) {
	sum := sha256.New()
	opt.Shipped, opt.ReadFile = profiles.FS, reader(ctx, stdin, sum)
	set, found := spec.Load(opt, names...)
	for _, v := range opt.Set {
		fmt.Fprintf(sum, "\x00%s", v)
	}
	return Input{Set: set, Sum: "sha256:" + hex.EncodeToString(sum.Sum(nil))}, found
}

// PrintProblems prints what is wrong with files, and turns errors among them into exit code 2.
func PrintProblems(w io.Writer, found problem.List) error {
	found.Sort()
	found = slices.Compact(found) // an experiment is read once for its axes and once for its points
	for _, p := range found {
		if p.Warning {
			fmt.Fprintf(w, "warning: %s\n", p.Error())
		} else {
			fmt.Fprintln(w, p.Error())
		}
	}
	if found.Err() != nil {
		return runs.Code(contract.ExitUsage)
	}
	return nil
}

// Expand resolves every experiment that was read from a file called from; w hears of problems. Each is walked once, so
// that nothing is printed of one that is wrong further on.
func (in Input) Expand(w io.Writer, opt plan.Options, from string) ([]*plan.Matrix, error) {
	var all []*plan.Matrix
	var found problem.List
	platforms := opt.Platforms.OrAll()
	for _, p := range in.Set.RunPlans {
		if err := platforms.Sealer().Move(&p.Plan, opt.Namespace); err != nil {
			found.Add(p.Problem("target.namespace", "%v", err))
		}
		if text := opt.Undeployable.Says(&p.Plan, platforms); text != "" {
			wrong := p.Problem("deployment.platform", "%s", text)
			wrong.Warning = opt.Undeployable == plan.WarnUndeployable
			found.Add(wrong)
		}
	}
	for _, e := range in.Set.Experiments {
		m, p := plan.Expand(e, in.Set.Catalogue, opt)
		found.Add(p...)
		if m != nil {
			found.Add(m.Check()...)
			all = append(all, m)
		}
	}
	if err := PrintProblems(w, found); err != nil {
		return nil, err
	}
	if len(all)+len(in.Set.RunPlans) == 0 {
		return nil, step.Usagef("planning %s: it contains no document of kind Experiment", from)
	}
	return all, nil
}

// Plans walks every plan in order, those given as documents last. The first problem ends it.
func (in Input) Plans(all []*plan.Matrix) iter.Seq2[*runplan.RunPlan, error] {
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
		for _, p := range in.Set.RunPlans {
			if !yield(&p.Plan, nil) {
				return
			}
		}
	}
}

// Collect is the whole of Plans.
func (in Input) Collect(all []*plan.Matrix) ([]*runplan.RunPlan, error) {
	var plans []*runplan.RunPlan
	for p, err := range in.Plans(all) {
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

// Secrets are the credentials that the files held literally.
func Secrets(all []*plan.Matrix) []literal.Secret {
	var out []literal.Secret
	for _, m := range all {
		out = append(out, m.Secrets()...)
	}
	return out
}

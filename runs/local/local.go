// Package local is the kind of runs that live on this machine. It carries plans out here: each is compiled, the YAML is
// parsed again, and the executor runs what it says, so that a laptop runs exactly what a cluster would. It must not
// know flags or terminals.
package local

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/pipelines"
	executor "bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runplan/literal"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/tasks/step"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Options say where and how plans run.
type Options struct {
	Root    string // folder of runs
	Matrix  string // name of the matrix whose points the plans are, "" of a run alone
	Self    string // path of bflow
	Env     []string
	Compile compile.Options
	Stop    <-chan struct{}                                                  // closed: stop at once, without teardown
	Secrets []literal.Secret                                                 // that the experiment file held literally
	Given   Given                                                            // values of Secrets that a person named
	Observe func(runID, runDir string, p *runplan.RunPlan) executor.Observer // may be nil
	Now     func() time.Time
	Say     func(runID, format string, args ...any) // prints a line about a run; may be nil
}

// Run carries plans out in their order, as many side by side as the first of them allows (max_parallel, 1 without it).
// Outcomes are in the order of plans; those that never started, because fail_fast or the context ended it, are absent.
func Run(ctx context.Context, plans []*runplan.RunPlan, o Options) []runs.Outcome {
	if len(plans) == 0 {
		return nil
	}
	rules := plans[0].Execution
	outcomes := make([]*runs.Outcome, len(plans))
	slots := make(chan struct{}, max(rules.MaxParallel, 1))
	var wg sync.WaitGroup
	var failed sync.Once
	stop := make(chan struct{})
	for i, p := range plans {
		slots <- struct{}{}
		if ctx.Err() != nil || closed(stop) {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			out := runOne(ctx, p, o)
			outcomes[i] = &out
			if rules.FailFast && out.Code != contract.ExitPass {
				failed.Do(func() { close(stop) })
			}
		})
	}
	wg.Wait()
	return present(outcomes)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func present(outcomes []*runs.Outcome) []runs.Outcome {
	var out []runs.Outcome
	for _, o := range outcomes {
		if o != nil {
			out = append(out, *o)
		}
	}
	return out
}

// runOne carries out a single plan as a new run.
func runOne(ctx context.Context, p *runplan.RunPlan, o Options) runs.Outcome {
	out := runs.Outcome{RunID: NewRunID(p.Name, o.Now()), Plan: p}
	out.RunDir = filepath.Join(o.Root, out.RunID)
	objects, err := compiled(p, o.Compile)
	if err == nil && o.Matrix != "" {
		for _, run := range objects.PipelineRuns {
			metav1.SetMetaDataLabel(&run.ObjectMeta, contract.LabelMatrix, o.Matrix)
		}
	}
	if err == nil {
		out.Status, err = execute(ctx, objects, out, o)
	}
	out.Err, out.Code = err, exitCode(out.Status, err)
	return out
}

func execute(ctx context.Context, objects pipelines.Bundle, out runs.Outcome, o Options) (executor.Status, error) {
	opt, err := Executor(o, out.RunDir, out.Plan)
	if err != nil {
		return executor.Status{}, err
	}
	opt.Objects, opt.RunID = objects, out.RunID
	if o.Observe != nil {
		opt.Observer = o.Observe(out.RunID, out.RunDir, out.Plan)
	}
	if len(executor.Check(opt)) == 0 { // one that is refused leaves nothing behind
		if err := step.KeepPlan(out.RunDir, out.Plan); err != nil {
			return executor.Status{}, err
		}
	}
	return executor.Run(ctx, opt)
}

// Executor returns the executor's options for the run directory of plan, without what is to run. A value of a Secret
// that is known nowhere is an error of usage.
func Executor(o Options, runDir string, plan *runplan.RunPlan) (executor.Options, error) {
	env := append(slices.Clone(o.Env), contract.EnvHostHome+"="+value(o.Env, "HOME"),
		contract.EnvHostTmp+"="+cmp.Or(value(o.Env, "TMPDIR"), "/tmp"))
	opt := executor.Options{RunDir: runDir, BinDir: filepath.Dir(o.Self), Self: o.Self, Env: env,
		PassEnv: append(inherited(o.Env), contract.EnvHostHome, contract.EnvHostTmp, contract.EnvMLflowParent),
		Stop:    o.Stop, Clock: o.Now, SecretEnv: map[string]string{}, Stay: o.staying(filepath.Base(runDir), plan)}
	err := provideSecrets(&opt, o, plan)
	return opt, err
}

// value is the value of a variable in a list of KEY=VALUE, "" where it is not set.
func value(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// inherited names what steps take over from this process: everything but what belongs to bflow and to the tracking
// server, which only reach the steps that declare them.
func inherited(env []string) []string {
	var names []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		venv := strings.HasPrefix(name, "BFLOW_") && strings.HasSuffix(name, "VENV") // where load-gen finds other load tools
		if venv || !strings.HasPrefix(name, "BFLOW_") && !strings.HasPrefix(name, "MLFLOW_") {
			names = append(names, name)
		}
	}
	return names
}

// compiled is what p compiles to, written as YAML and read back.
func compiled(p *runplan.RunPlan, o compile.Options) (pipelines.Bundle, error) {
	o.NoQueue, o.OneHost = true, true
	var text bytes.Buffer
	one := func(yield func(*runplan.RunPlan, error) bool) { yield(p, nil) }
	if err := compile.Write(&text, one, o); err != nil {
		return pipelines.Bundle{}, err
	}
	return pipelines.Parse(&text)
}

// exitCode prefers what the run says of itself over what kept the executor from its work.
func exitCode(s executor.Status, err error) int {
	if s.ExitCode != contract.ExitPass {
		return s.ExitCode
	}
	return step.Code(err)
}

// NewRunID is the name of a new run: <point>-<time>-<random>, at most 63 characters.
func NewRunID(name string, now time.Time) string {
	name = strings.TrimRight(name[:min(len(name), 40)], "-")
	return fmt.Sprintf("%s-%s-%s", name, now.UTC().Format("20060102-150405"), suffix())
}

// suffix is five characters that tell runs of one second apart.
func suffix() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))[:5]
}

// Self is the path of the running program.
func Self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding bflow itself: %w", err)
	}
	return filepath.EvalSymlinks(path)
}

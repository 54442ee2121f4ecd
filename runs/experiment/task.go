package experiment

import (
	"context"
	"fmt"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/tasks/step"
)

// Options say which PipelineRun asks for an experiment.
type Options struct {
	Namespace, PipelineRun string
	TaskRun                string // that this is
	GitDir                 string // folder of the Secret with credentials of git servers
	Results                Results
}

// Run submits the experiment that a PipelineRun asks for, waits for its runs and returns their exit code. access is the
// way to the cluster. Ended because somebody cancels the PipelineRun, it cancels the runs.
func Run(ctx context.Context, on runs.Console, access func() (*kube.Config, error), o Options) (int, error) {
	if o.PipelineRun == "" || o.Namespace == "" {
		return 0, step.Usagef("reading flags of \"experiment\": --pipelinerun is required; this command is a task of "+
			"Pipeline %s, so start that Pipeline", contract.Experiment)
	}
	t := &task{Options: o, on: on}
	if err := t.begin(ctx, access); err != nil {
		return 0, err
	}
	return t.run(ctx)
}

// task is one experiment that a PipelineRun asks for.
type task struct {
	Options
	on runs.Console

	cluster *cluster.Cluster
	parent  *cluster.Parent
	request Request
	source  string // where the file came from
	plans   []*runplan.RunPlan

	matrices []*cluster.Matrix
	runs     []*cluster.Run
	alone    []*runplan.RunPlan // plans of runs
	names    []string           // of matrices, then of runs
}

// begin finds out what is asked for.
func (t *task) begin(ctx context.Context, access func() (*kube.Config, error)) error {
	cfg, err := access()
	if err != nil {
		return err
	}
	err = t.retry(ctx, func(ctx context.Context) (err error) {
		if t.cluster, err = cluster.Connect(ctx, cfg, ""); err != nil {
			return err
		}
		t.cluster.Modest = true
		t.parent, err = t.cluster.Parent(ctx, t.Namespace, t.PipelineRun)
		return err
	})
	if err != nil {
		return err
	}
	if t.request, err = Read(t.parent.Params); err != nil {
		return step.Exit(contract.ExitUsage, err)
	}
	return nil
}

func (t *task) retry(ctx context.Context, do func(context.Context) error) error {
	return cluster.Retry(ctx, t.on, do)
}

// run submits and waits.
func (t *task) run(ctx context.Context) (int, error) {
	keys, o, err := t.resolve(ctx)
	if err != nil {
		return 0, err
	}
	if err := t.submit(ctx, o, keys); err != nil {
		return 0, err
	}
	if ctx.Err() != nil {
		return t.leave(ctx)
	}
	if !t.request.Wait {
		fmt.Fprintf(t.on.Err, "not waiting for the verdict; follow it with bflow watch %s\n", t.names[0])
		return contract.ExitPass, nil
	}
	t.warn()
	ended, err := t.follow(ctx)
	if ctx.Err() != nil {
		return t.leave(ctx)
	}
	if err != nil {
		return 0, err
	}
	return t.conclude(ctx, ended)
}

// follow shows matrices until they end, one after another, and then runs, of which it returns how they ended.
func (t *task) follow(ctx context.Context) (map[string]cluster.Status, error) {
	for i, m := range t.matrices {
		ended, err := t.cluster.Matrices().Show(ctx, t.on, m)
		if err != nil {
			return nil, err
		}
		t.matrices[i] = ended
	}
	if len(t.runs) == 0 {
		return nil, nil
	}
	return t.cluster.Show(ctx, t.on, t.runs, t.alone)
}

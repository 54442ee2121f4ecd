package cluster

import (
	"context"
	"fmt"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runplan/literal"
	"bflow.dev/bflow/runs"
)

// StartOptions say how plans become runs.
type StartOptions struct {
	Compile       compile.Options
	PlatformGiven bool             // Compile.Platform was chosen by a person
	Secrets       []literal.Secret // credentials that the experiment file held literally
	Follow        bool             // stay until the runs end
}

// Start submits a matrix for every experiment of several plans, a run for every other plan, and prints their names. It
// returns the exit code that stands for all of them where they are followed.
func (a *Access) Start(ctx context.Context, on runs.Console, plans []*runplan.RunPlan, o StartOptions) (int, error) {
	c, _, err := a.connect(ctx)
	if err != nil {
		return 0, err
	}
	if len(plans) > 1 && o.Compile.NoQueue {
		fmt.Fprintf(on.Err, "warning: %d runs start at once and compete for free devices; with a queue they would "+
			"wait for each other\n", len(plans))
	}
	if err := c.Adapt(ctx, &o.Compile, plans[0], o.PlatformGiven); err != nil {
		return 0, err
	}
	var matrices []*Matrix
	if o.Compile.Matrix && !o.Compile.NoQueue {
		if plans, matrices, err = a.submitMatrices(ctx, on, plans, o); err != nil {
			return 0, err
		}
	}
	var submitted []*Run
	if len(plans) > 0 {
		submitted, err = c.Submit(ctx, Submission{Plans: plans, Compile: o.Compile, Secrets: o.Secrets,
			Name: a.NewName})
		if len(submitted) > 0 {
			printSubmitted(on, c, submitted, o.Follow)
			warnTooBig(ctx, on, c, submitted)
		}
		if err != nil {
			return 0, err
		}
	}
	if !o.Follow {
		return contract.ExitPass, nil
	}
	return a.followAll(ctx, on, matrices, submitted, plans)
}

// submitMatrices submits a matrix for every experiment of several points. Plans that stand alone are left for runs of
// their own.
func (a *Access) submitMatrices(ctx context.Context, on runs.Console, plans []*runplan.RunPlan,
	o StartOptions,
) ([]*runplan.RunPlan, []*Matrix, error) {
	var alone []*runplan.RunPlan
	var made []*Matrix
	for _, group := range ByExperiment(plans) {
		if len(group) == 1 {
			alone = append(alone, group...)
			continue
		}
		m, err := a.cluster.Matrices().Submit(ctx, Submission{Plans: group, Compile: o.Compile, Secrets: o.Secrets,
			Name: a.NewName})
		if err != nil {
			return nil, made, err
		}
		printSubmittedMatrix(on, a.cluster, m, len(group), o.Follow)
		made = append(made, m)
	}
	return alone, made, nil
}

// ByExperiment divides plans into those that belong together.
func ByExperiment(plans []*runplan.RunPlan) [][]*runplan.RunPlan {
	var groups [][]*runplan.RunPlan
	for i, p := range plans {
		if i == 0 || p.Experiment != plans[i-1].Experiment {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], p)
	}
	return groups
}

// followAll follows matrices, one after another, and then runs.
func (a *Access) followAll(ctx context.Context, on runs.Console, matrices []*Matrix, submitted []*Run,
	plans []*runplan.RunPlan,
) (int, error) {
	var codes []int
	for _, m := range matrices {
		code, err := a.cluster.Matrices().followToEnd(ctx, on, m)
		if err != nil {
			return 0, err
		}
		codes = append(codes, code)
	}
	if len(submitted) > 0 {
		code, err := a.follow(ctx, on, submitted, plans)
		if err != nil {
			return 0, err
		}
		codes = append(codes, code)
	}
	return runs.Worst(codes), nil
}

// warnTooBig warns of runs that cannot start on the cluster as it is.
func warnTooBig(ctx context.Context, on runs.Console, c *Cluster, submitted []*Run) {
	for _, text := range c.TooBig(ctx, submitted) {
		fmt.Fprintf(on.Err, "warning: %s\n", text)
	}
}

// printSubmitted prints the names of new runs, one a line, and what to do with them.
func printSubmitted(on runs.Console, c *Cluster, submitted []*Run, follow bool) {
	for i, r := range submitted {
		if i == 0 || r.Namespace != submitted[i-1].Namespace {
			fmt.Fprintf(on.Err, "submitted to namespace %s of cluster %s\n", r.Namespace, c.Name)
		}
		fmt.Fprintln(on.Out, r.ID)
	}
	if !follow {
		fmt.Fprintf(on.Err, "follow it with bflow watch %s; see also bflow status, logs and cancel\n", submitted[0].ID)
	}
}

func printSubmittedMatrix(on runs.Console, c *Cluster, m *Matrix, points int, follow bool) {
	fmt.Fprintf(on.Err, "submitted a matrix of %d points to namespace %s of cluster %s\n", points, m.Namespace(),
		c.Name)
	fmt.Fprintln(on.Out, m.Name())
	if !follow {
		fmt.Fprintf(on.Err, "follow it with bflow watch %s; see also bflow status, cancel, report and rerun --failed\n",
			m.Name())
	}
}

package local

import (
	"context"
	"fmt"
	"os"
	"time"

	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/runs/tracking"
	"bflow.dev/bflow/tasks/mlflow"
)

// group is the MLflow run of a matrix that runs here: those of its points belong below it.
type group struct {
	client *mlflow.Client
	group  mlflow.Group
	points int
}

// trackingTimeout is how long a matrix waits for the tracking server before its first run, and behind its last.
const trackingTimeout = 15 * time.Second

// beginGroup makes the run of a matrix and names it to the steps; nil without a tracking server, of a single plan, and
// where the server does not answer, which is said.
func beginGroup(ctx context.Context, on runs.Console, plans []*runplan.RunPlan, o *Options) (*group, error) {
	if len(plans) < 2 {
		return nil, nil
	}
	client, err := mlflow.NewClient(os.Getenv, trackingTimeout)
	if client == nil || err != nil {
		return nil, err
	}
	now, name := o.Now(), o.Matrix
	g := &group{client: client, points: len(plans), group: mlflow.Group{Experiment: plans[0].Sinks.MLflow.Experiment,
		Name: name, ID: name, Start: now}}
	info, err := client.Begin(ctx, g.group)
	if err != nil {
		fmt.Fprintf(on.Err, "warning: %v; the runs of the matrix will have no parent there\n", err)
		return nil, nil
	}
	o.Env = append(o.Env, contract.EnvMLflowParent+"="+info.RunID)
	return g, nil
}

// end pushes what the matrix came to, with its page, and ends its run.
func (g *group) end(ctx context.Context, on runs.Console, outcomes []runs.Outcome, page string, code int) {
	if g == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*trackingTimeout)
	defer cancel()
	if err := g.finish(ctx, outcomes, page, code); err != nil {
		fmt.Fprintf(on.Err, "warning: %v; the page is available here anyway\n", err)
	}
}

func (g *group) finish(ctx context.Context, outcomes []runs.Outcome, page string, code int) error {
	counts := countsOf(outcomes)
	counts.Skipped = g.points - len(outcomes)
	files := map[string][]byte{}
	if page != "" {
		html, err := os.ReadFile(page)
		if err != nil {
			return fmt.Errorf("reading the page of the matrix: %w", err)
		}
		files[contract.FileReportHTML] = html
	}
	_, err := tracking.Push(ctx, g.client, g.group, files, tracking.OutcomeOf(counts, g.points, code))
	return err
}

// countsOf counts runs by what became of them.
func countsOf(outcomes []runs.Outcome) state.Counts {
	var ended []state.Outcome
	for _, out := range outcomes {
		word := ""
		if end, err := report.ReadVerdict(out.RunDir); err == nil {
			word = end.Verdict
		}
		ended = append(ended, runs.PointOutcome(word, out.Code))
	}
	return state.Tally(ended)
}

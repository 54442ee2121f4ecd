package app

import (
	"context"
	"fmt"
	"os"
	"time"

	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	localrun "bflow.dev/bflow/runs/local"
	"bflow.dev/bflow/tasks/mlflow"
)

// localGroup is the MLflow run of a matrix that runs here: those of its points belong below it.
type localGroup struct {
	client *mlflow.Client
	group  mlflow.Group
	points int
}

// groupPatience is how long a matrix waits for the tracking server before its first run, and behind its last.
const groupPatience = 15 * time.Second

// beginGroup makes the run of a matrix and names it to the steps; nil without a tracking server, of a single plan, and
// where the server does not answer, which is said.
func beginGroup(ctx context.Context, s Streams, plans []*runplan.RunPlan, o *localrun.Options) (*localGroup, error) {
	if len(plans) < 2 {
		return nil, nil
	}
	client, err := mlflow.NewClient(os.Getenv, groupPatience)
	if client == nil || err != nil {
		return nil, err
	}
	now, name := o.Now(), o.Matrix
	g := &localGroup{client: client, points: len(plans), group: mlflow.Group{Experiment: plans[0].Sinks.MLflow.Experiment, Name: name, ID: name, Start: now}}
	info, err := client.Begin(ctx, g.group)
	if err != nil {
		fmt.Fprintf(s.Err, "warning: %v; the runs of the matrix will have no parent there\n", err)
		return nil, nil
	}
	o.Env = append(o.Env, contract.EnvMLflowParent+"="+info.RunID)
	return g, nil
}

// end pushes what the matrix came to, with its page, and ends its run.
func (g *localGroup) end(ctx context.Context, s Streams, outcomes []localrun.Outcome, page string, code int) {
	if g == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*groupPatience)
	defer cancel()
	if err := g.finish(ctx, outcomes, page, code); err != nil {
		fmt.Fprintf(s.Err, "warning: %v; the page is available here anyway\n", err)
	}
}

func (g *localGroup) finish(ctx context.Context, outcomes []localrun.Outcome, page string, code int) error {
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
	_, err := pushGroup(ctx, g.client, g.group, files, groupOutcome(counts, g.points, code))
	return err
}

// countsOf counts runs by what became of them.
func countsOf(outcomes []localrun.Outcome) state.Counts {
	var ended []state.Outcome
	for _, out := range outcomes {
		word := ""
		if end, err := report.ReadVerdict(out.RunDir); err == nil {
			word = end.Verdict
		}
		ended = append(ended, outcomeOf(word, out.Code))
	}
	return state.Tally(ended)
}

// groupOutcome is what MLflow is told of a matrix.
func groupOutcome(n state.Counts, points, code int) mlflow.Outcome {
	word := n.Verdict()
	return mlflow.Outcome{End: time.Now(), ExitCode: code,
		Tags: map[string]string{mlflow.VerdictTag: word, "bflow.verdict": word, "mlflow.note.content": fmt.Sprintf("**%s**: %d points, %s", word, points, n)},
		Metrics: map[string]float64{"points": float64(points), "passed": float64(n.Passed), "failed": float64(n.Failed), "invalid": float64(n.Invalid),
			"inconclusive": float64(n.Inconclusive), "cancelled": float64(n.Cancelled + n.Deleted + n.Skipped)}}
}

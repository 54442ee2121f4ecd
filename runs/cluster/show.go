package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	executor "bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/runs/local"
	"bflow.dev/bflow/runs/progress"
	"bflow.dev/bflow/tasks/step"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// follow shows runs until they end, prints what came out, and returns the code that stands for all of them. plans are
// those of runs where they are known.
func (a *Access) follow(ctx context.Context, on runs.Console, followed []*Run, plans []*runplan.RunPlan) (int, error) {
	ended, err := a.cluster.Show(ctx, on, followed, plans)
	if id := followed[0].ID; ctx.Err() != nil {
		return 0, step.Exit(contract.ExitInterrupted,
			fmt.Errorf("following %s: interrupted; it continues; follow it again with bflow watch %s, or end it "+
				"with bflow cancel %s", id, id, id))
	}
	if err != nil {
		return 0, err
	}
	return a.conclude(ctx, on, followed, ended)
}

// Show shows runs until they end, and returns how.
func (c *Cluster) Show(ctx context.Context, on runs.Console, followed []*Run,
	plans []*runplan.RunPlan) (map[string]Status, error) {
	display := progress.New(on.Err, on.ErrScreen, len(followed), on.Now)
	defer display.Close()
	return c.Follow(ctx, followed, newRunDisplay(display, followed, plans))
}

// conclude says how runs ended and shows their reports.
func (a *Access) conclude(ctx context.Context, on runs.Console, followed []*Run, ended map[string]Status) (int, error) {
	var codes []int
	var outcomes []runs.Outcome
	for _, r := range followed {
		status := ended[r.ID]
		codes = append(codes, status.ExitCode)
		if status.ExitCode != contract.ExitPass {
			more := ""
			if len(status.Tasks) > 0 {
				more = "; see bflow logs " + r.ID
			}
			fmt.Fprintf(on.Err, "%s: %s%s\n", r.ID, progress.Reason(status.Message), more)
		}
		dir, err := a.reportCopy(ctx, on, r)
		if err != nil {
			fmt.Fprintf(on.Err, "warning: no report of %s yet: %v; retry with bflow report %s\n", r.ID, err, r.ID)
			continue
		}
		if dir != "" {
			outcomes = append(outcomes, runs.Outcome{RunID: r.ID, RunDir: dir})
		}
	}
	if len(outcomes) > 0 {
		root, err := a.Copies.Root()
		if err != nil {
			return 0, err
		}
		if _, err := runs.Headline(on, filepath.Join(root, local.CopiesDir, "matrix-"+outcomes[0].RunID+".html"),
			outcomes); err != nil {
			return 0, err
		}
	}
	return runs.Worst(codes), nil
}

// reportCopy fetches the report of a run that has ended, "" where it never measured anything.
func (a *Access) reportCopy(ctx context.Context, on runs.Console, r *Run) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	run, err := a.cluster.Find(ctx, r.ID, r.Namespace)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(run.Last().Status.ChildReferences,
		func(t tektonv1.ChildStatusReference) bool { return t.PipelineTaskName == contract.Collect }) {
		return "", nil // it ended before there was a report, and has said why
	}
	dir, err := a.Copies.fetch(ctx, on, a.cluster, run, reportFiles)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, contract.FileReport)); err != nil {
		return "", nil
	}
	return dir, nil
}

// runDisplay shows runs of a cluster as those of this machine are shown.
type runDisplay struct {
	display *progress.Display
	runs    map[string]*displayedRun
}

func newRunDisplay(display *progress.Display, followed []*Run, plans []*runplan.RunPlan) *runDisplay {
	s := &runDisplay{display: display, runs: map[string]*displayedRun{}}
	if len(followed) > 1 {
		s.display.NameRuns()
	}
	for i, r := range followed {
		s.runs[r.ID] = &displayedRun{states: map[string]executor.State{}}
		if i < len(plans) {
			s.runs[r.ID].plan = plans[i]
		}
	}
	return s
}

// displayedRun is what was shown of a run.
type displayedRun struct {
	plan     *runplan.RunPlan
	observer executor.Observer
	states   map[string]executor.State
	attempt  int
	message  string
}

var _ Observer = (*runDisplay)(nil)

// Changed shows what is new.
func (s *runDisplay) Changed(status Status) {
	r := s.runs[status.RunID]
	if r == nil {
		return
	}
	if r.observer == nil {
		r.observer, r.attempt = s.display.Start(status.RunID, status.RunID, r.plan), status.Attempt
	}
	if status.Attempt != r.attempt {
		r.attempt, r.states = status.Attempt, map[string]executor.State{}
		s.display.Say(status.RunID, "attempt %d", status.Attempt)
	}
	if status.Alive && status.Message != "" && status.Message != r.message {
		s.display.Say(status.RunID, "%s", status.Message)
	}
	r.message = status.Message
	for _, record := range progress.Changes(status.Status, r.states) {
		r.observer.Changed(record)
	}
}

// Progress moves the bar of a load-gen.
func (s *runDisplay) Progress(run, _ string, p report.Progress) { s.display.Progress(run, p) }

// StepStarted is not shown: the task's line says it when it ends.
func (s *runDisplay) StepStarted(string, string, string, string, string) {}

// Trouble says that the cluster does not answer, and that it does again.
func (s *runDisplay) Trouble(err error) { s.display.Say("", "%s", interruption(err)) }

// interruption says that the cluster does not answer, or, of no error, that it does again.
func interruption(err error) string {
	if err == nil {
		return "the cluster answers again"
	}
	return err.Error() + "; retrying, the runs continue"
}

// PrintTrouble is the same for whoever only reads.
func PrintTrouble(on runs.Console, err error) {
	if err == nil {
		fmt.Fprintln(on.Err, "the cluster answers again")
		return
	}
	fmt.Fprintf(on.Err, "%v; retrying\n", err)
}

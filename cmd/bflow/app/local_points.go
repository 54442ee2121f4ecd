package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	clusterrun "bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/tasks/step"
	"bflow.dev/bflow/verdict"
)

// points are the runs of one matrix on this machine, in the order in which they began.
type points struct {
	name string
	runs []clusterrun.Status
}

// together puts the runs of each matrix of this machine into one row; those of a cluster have theirs already.
func together(runs []clusterrun.Status) []clusterrun.Status {
	alone, matrices := parted(runs)
	for _, m := range matrices {
		alone = append(alone, m.row())
	}
	return alone
}

// parted are the runs that belong to no matrix of this machine, and those matrices.
func parted(runs []clusterrun.Status) (alone []clusterrun.Status, matrices []*points) {
	found := map[string]*points{}
	for _, r := range runs {
		if r.Matrix == "" || r.Namespace != "" {
			alone = append(alone, r)
			continue
		}
		if found[r.Matrix] == nil {
			found[r.Matrix] = &points{name: r.Matrix}
			matrices = append(matrices, found[r.Matrix])
		}
		found[r.Matrix].runs = append(found[r.Matrix].runs, r)
	}
	for _, m := range matrices {
		slices.SortStableFunc(m.runs, func(a, b clusterrun.Status) int { return a.Started.Compare(b.Started) })
	}
	return alone, matrices
}

// findPoints finds a matrix of this machine by its name or the only start of one; nil where there is none.
func findPoints(c *cli.Context, name string) (*points, error) {
	root, err := runsDir(c)
	if err != nil || name == "" {
		return nil, err
	}
	here, err := local.List(root)
	if err != nil {
		return nil, err
	}
	_, matrices := parted(statuses(here))
	var hits []*points
	for _, m := range matrices {
		if m.name == name {
			return m.described(), nil
		}
		if strings.HasPrefix(m.name, name) {
			hits = append(hits, m)
		}
	}
	if len(hits) != 1 {
		return nil, nil
	}
	return hits[0].described(), nil
}

// described is m with what its runs are for, and have found.
func (m *points) described() *points {
	for i := range m.runs {
		describe(&m.runs[i])
	}
	return m
}

// row is the matrix as one line among runs.
func (m *points) row() clusterrun.Status {
	first := m.runs[0]
	s := clusterrun.Status{Experiment: first.Experiment, Model: first.Model, Load: fmt.Sprintf("%d points", len(m.runs)), Created: first.Started}
	s.RunID, s.Matrix, s.Attempt, s.Started = m.name, m.name, 1, first.Started
	counts := m.counts()
	var codes []int
	for _, r := range m.runs {
		if r.Model != s.Model {
			s.Model = "several"
		}
		s.Alive = s.Alive || r.Alive
		if r.Finished.After(s.Finished) {
			s.Finished = r.Finished
		}
		codes = append(codes, r.ExitCode)
	}
	s.Message = counts.String()
	if s.Alive {
		s.State, s.Finished = local.Running, time.Time{}
		return s
	}
	s.ExitCode, s.State = worst(codes), m.state()
	s.Results = local.Results{contract.ResultVerdict: *v1.NewStructuredValues(counts.Verdict())}
	return s
}

// state is that of a matrix that has ended: the worst of its runs.
func (m *points) state() local.State {
	for _, state := range []local.State{local.Interrupted, local.Cancelled, local.TimedOut, local.Failed} {
		if slices.ContainsFunc(m.runs, func(r clusterrun.Status) bool { return r.State == state }) {
			return state
		}
	}
	return local.Succeeded
}

func (m *points) counts() state.Counts {
	var ended []state.Outcome
	alive := 0
	for _, r := range m.runs {
		if r.Alive {
			alive++
			continue
		}
		ended = append(ended, outcomeOf(r.Verdict(), r.ExitCode))
	}
	n := state.Tally(ended)
	n.Running = alive
	return n
}

// outcomeOf is what became of a run that has ended with a verdict, "" where it came to none, and an exit code.
func outcomeOf(word string, code int) state.Outcome {
	if code == contract.ExitInterrupted {
		return state.Cancelled
	}
	return state.Of(cmp.Or(word, verdict.Word(code)), code == contract.ExitPass)
}

// show says how far the matrix is, and each of its runs.
func (m *points) show(c *cli.Context, s Streams) error {
	return show(c, s.Out, m.runs, func(w io.Writer) error {
		row := m.row()
		on := screenOf(c, s.Out)
		fmt.Fprintf(w, "Matrix:\t%s\nState:\t%s\nPoints:\t%d: %s\n", m.name, on.Paint(string(row.State)), len(m.runs), row.Message)
		if word := row.Verdict(); word != "" {
			fmt.Fprintf(w, "Verdict:\t%s\n", on.Paint(word))
		}
		fmt.Fprintln(w)
		return listTable(w, on, m.runs)
	})
}

// reported are the folders of its runs that have come to a report.
func (m *points) reported() (names []string) {
	for _, r := range m.runs {
		if _, err := os.Stat(filepath.Join(r.RunDir, contract.FileReport)); err == nil {
			names = append(names, r.RunDir)
		}
	}
	return names
}

// page is where the page over all runs lies.
func (m *points) page(c *cli.Context) (string, error) {
	root, err := runsDir(c)
	if err != nil {
		return "", err
	}
	return pageIn(root, m.name)
}

// pageIn is where the page over the runs of a matrix lies in the folder of runs. A journal, which may come from anywhere,
// says the name of the matrix: it must not lead out of that folder.
func pageIn(root, matrix string) (string, error) {
	if file := matrix + ".html"; !filepath.IsLocal(file) || filepath.Base(file) != file {
		return "", step.Usagef("naming the page of matrix %q: this is not a valid file name in %s; name the runs, and a file with --out", matrix, root)
	}
	return filepath.Join(root, matrix+".html"), nil
}

// cancel stops those that run. Runs side by side have one executor, for which a second signal means: at once.
func (m *points) cancel(s Streams) error {
	told := map[int]bool{}
	for _, r := range m.runs {
		if !r.Alive || told[r.PID] {
			continue
		}
		if err := local.Cancel(r.RunDir); err != nil {
			return err
		}
		told[r.PID] = true
	}
	if len(told) == 0 {
		return fmt.Errorf("cancelling matrix %s: none of its runs is running", m.name)
	}
	fmt.Fprintf(s.Err, "asked the executor of %s to stop; see its progress with bflow status %s\n", m.name, m.name)
	return nil
}

// delete removes all runs with the page over them.
func (m *points) delete(c *cli.Context) error {
	path, err := m.page(c)
	if err != nil {
		return err
	}
	for _, r := range m.runs {
		if err := deleteHere(c, r.RunDir); err != nil {
			return err
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("deleting the page of %s: %w", m.name, err)
	}
	return nil
}

// plans are those of its runs, or of those that did not come to a good end.
func (m *points) plans(failed bool) (plans []*runplan.RunPlan, err error) {
	for _, r := range m.runs {
		if failed && r.ExitCode == contract.ExitPass && !r.Alive {
			continue
		}
		plan, err := runplan.Read(r.RunDir)
		if err != nil {
			return nil, err
		}
		plans = append(plans, plan)
	}
	return plans, nil
}

// single refuses a matrix where one run is asked for.
func (m *points) single(c *cli.Context) error {
	return several(c, m.name, len(m.runs), m.runs[0].RunID)
}

package local

import (
	"context"
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

	"bflow.dev/bflow/internal/screen"
	executor "bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/tasks/step"
)

// MatrixKind finds the matrices whose runs lie on this machine.
type MatrixKind struct {
	Root func() (string, error)
}

var _ runs.Kind = MatrixKind{}

// Find finds a matrix by its name or the only start of one. Where none is, kind Kind says so.
func (k MatrixKind) Find(_ context.Context, name string) (runs.Run, error) {
	all, err := k.all()
	if err != nil {
		return nil, &runs.NotFoundError{Name: name}
	}
	var hits []*matrix
	for _, m := range all {
		if m.name == name {
			return m.withDetails(), nil
		}
		if strings.HasPrefix(m.name, name) {
			hits = append(hits, m)
		}
	}
	if len(hits) != 1 {
		return nil, &runs.NotFoundError{Name: name}
	}
	return hits[0].withDetails(), nil
}

// List has a row for each matrix. What cannot be read, kind Kind says.
func (k MatrixKind) List(_ context.Context, all bool) ([]runs.Status, error) {
	if all {
		return nil, nil
	}
	matrices, _ := k.all()
	var rows []runs.Status
	for _, m := range matrices {
		rows = append(rows, m.withDetails().row())
	}
	return rows, nil
}

// NamesOf are the names of the matrices.
func (k MatrixKind) NamesOf(context.Context) (names []string) {
	matrices, _ := k.all()
	for _, m := range matrices {
		names = append(names, m.name)
	}
	return names
}

func (k MatrixKind) all() ([]*matrix, error) {
	root, err := k.Root()
	if err != nil {
		return nil, err
	}
	here, err := executor.List(root)
	if err != nil {
		return nil, err
	}
	_, matrices := part(statuses(here))
	for _, m := range matrices {
		m.root = root
	}
	return matrices, nil
}

// matrix is what is known of the runs of one matrix, in the order in which they began.
type matrix struct {
	root, name string
	runs       []runs.Status
}

var _ runs.Matrix = (*matrix)(nil)

// part are the runs that belong to no matrix, and the matrices of the others.
func part(all []runs.Status) (alone []runs.Status, matrices []*matrix) {
	found := map[string]*matrix{}
	for _, r := range all {
		if r.Matrix == "" {
			alone = append(alone, r)
			continue
		}
		if found[r.Matrix] == nil {
			found[r.Matrix] = &matrix{name: r.Matrix}
			matrices = append(matrices, found[r.Matrix])
		}
		found[r.Matrix].runs = append(found[r.Matrix].runs, r)
	}
	for _, m := range matrices {
		slices.SortStableFunc(m.runs, func(a, b runs.Status) int { return a.Started.Compare(b.Started) })
	}
	return alone, matrices
}

// withDetails is m with what its runs are for, and have found.
func (m *matrix) withDetails() *matrix {
	for i := range m.runs {
		describe(&m.runs[i])
	}
	return m
}

// row is the matrix as one line among runs.
func (m *matrix) row() runs.Status {
	first := m.runs[0]
	s := runs.Status{Experiment: first.Experiment, Model: first.Model, Load: fmt.Sprintf("%d points", len(m.runs)),
		Created: first.Started}
	s.RunID, s.Matrix = m.name, m.name
	s.Attempt, s.Started = 1, first.Started
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
		s.State, s.Finished = executor.Running, time.Time{}
		return s
	}
	s.ExitCode, s.State = runs.Worst(codes), m.state()
	s.Results = executor.Results{contract.ResultVerdict: *v1.NewStructuredValues(counts.Verdict())}
	return s
}

// state is that of a matrix that has ended: the worst of its runs.
func (m *matrix) state() executor.State {
	for _, state := range []executor.State{executor.Interrupted, executor.Cancelled, executor.TimedOut,
		executor.Failed} {
		if slices.ContainsFunc(m.runs, func(r runs.Status) bool { return r.State == state }) {
			return state
		}
	}
	return executor.Succeeded
}

func (m *matrix) counts() state.Counts {
	var ended []state.Outcome
	alive := 0
	for _, r := range m.runs {
		if r.Alive {
			alive++
			continue
		}
		ended = append(ended, runs.PointOutcome(r.Verdict(), r.ExitCode))
	}
	n := state.Tally(ended)
	n.Running = alive
	return n
}

// Names are the name of the matrix.
func (m *matrix) Names() []string { return []string{m.name} }

// Points are the runs that are there.
func (m *matrix) Points() (int, string) { return len(m.runs), m.runs[0].RunID }

// Status says how far the matrix is, and each of its runs.
func (m *matrix) Status(context.Context) (runs.View, error) {
	return runs.View{Value: m.runs, Table: func(w io.Writer, on screen.Screen) error {
		row := m.row()
		fmt.Fprintf(w, "Matrix:\t%s\nState:\t%s\nPoints:\t%d: %s\n", m.name, on.Paint(string(row.State)), len(m.runs),
			row.Message)
		if word := row.Verdict(); word != "" {
			fmt.Fprintf(w, "Verdict:\t%s\n", on.Paint(word))
		}
		fmt.Fprintln(w)
		return runs.ListTable(w, on, m.runs)
	}}, nil
}

// Follow follows one run at a time.
func (m *matrix) Follow(context.Context, runs.Console) (int, error) { return 0, runs.Single(m) }

// Logs are those of one run.
func (m *matrix) Logs(context.Context, runs.Console, runs.LogOptions) error { return runs.Single(m) }

// Cancel stops those that run. Runs side by side have one executor, for which a second signal means: at once.
func (m *matrix) Cancel(context.Context, bool) (string, error) {
	executors := map[int]bool{} // that were told
	for _, r := range m.runs {
		if !r.Alive || executors[r.PID] {
			continue
		}
		if err := executor.Cancel(r.RunDir); err != nil {
			return "", err
		}
		executors[r.PID] = true
	}
	if len(executors) == 0 {
		return "", fmt.Errorf("cancelling matrix %s: none of its runs is running", m.name)
	}
	return fmt.Sprintf("asked the executor of %s to stop; see its progress with bflow status %s", m.name, m.name), nil
}

// plans are those of its runs, or of those that did not come to a good end.
func (m *matrix) plans(failed bool) (plans []*runplan.RunPlan, err error) {
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

// Rerun carries the plans of its runs out once more, as a new matrix.
func (m *matrix) Rerun(ctx context.Context, on runs.Console, o runs.RerunOptions) (int, error) {
	plans, err := m.plans(o.Failed)
	if err != nil {
		return 0, err
	}
	if len(plans) == 0 {
		fmt.Fprintf(on.Err, "every point of %s succeeded; there is nothing to run again\n", m.name)
		return contract.ExitPass, nil
	}
	return o.Start(ctx, plans, "plans of "+m.name)
}

// Delete removes all runs with the page over them.
func (m *matrix) Delete(ctx context.Context, _ runs.Console, _ runs.DeleteOptions) error {
	path, err := pageIn(m.root, m.name)
	if err != nil {
		return err
	}
	for _, r := range m.runs {
		if err := deleteDir(ctx, r.RunDir); err != nil {
			return err
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("deleting the page of %s: %w", m.name, err)
	}
	return nil
}

// Results are the folders of its runs that have come to a report.
func (m *matrix) Results(context.Context, runs.Console) (out runs.Results, err error) {
	if out.Page, err = pageIn(m.root, m.name); err != nil {
		return out, err
	}
	for _, r := range m.runs {
		if _, err := os.Stat(filepath.Join(r.RunDir, contract.FileReport)); err != nil {
			continue
		}
		dir, err := safe(r.RunDir)
		if err != nil {
			return out, err
		}
		out.Dirs = append(out.Dirs, dir)
	}
	switch n := len(m.runs); {
	case len(out.Dirs) == 0:
		return out, fmt.Errorf("reporting matrix %s: none of its %d runs has a report; see why with bflow status %s",
			m.name, n, m.name)
	case len(out.Dirs) < n:
		out.Note = fmt.Sprintf("it shows %d of %d points; the others have no report", len(out.Dirs), n)
	}
	return out, nil
}

// pageIn is where the page over the runs of a matrix lies in the folder of runs. A journal, which may come from
// anywhere, says the name of the matrix: it must not lead out of that folder.
func pageIn(root, matrix string) (string, error) {
	if file := matrix + ".html"; !filepath.IsLocal(file) || filepath.Base(file) != file {
		return "", step.Usagef("naming the page of matrix %q: this is not a valid file name in %s; name the runs, and a "+
			"file with --out", matrix, root)
	}
	return filepath.Join(root, matrix+".html"), nil
}

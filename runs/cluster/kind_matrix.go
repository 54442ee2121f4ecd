package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/tasks/step"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// MatrixKind finds the matrices of a cluster.
type MatrixKind struct{ *Access }

var (
	_ runs.Kind      = MatrixKind{}
	_ runs.Remainder = MatrixKind{}
)

// Find finds a matrix by its name or the only start of one. Where none is, kind Kind says so.
func (k MatrixKind) Find(ctx context.Context, name string) (runs.Run, error) {
	c, namespaces, err := k.connect(ctx)
	if err != nil {
		return nil, err
	}
	m, err := c.Matrices().Find(ctx, name, namespaces...)
	if err != nil || m == nil {
		return nil, &runs.NotFoundError{Name: name}
	}
	return &foundMatrix{access: k.Access, c: c, matrix: m}, nil
}

// FindLeft finds what is left of a matrix whose parent was deleted, where no controller lets it go.
func (k MatrixKind) FindLeft(ctx context.Context, name string) (runs.Run, error) {
	c, namespaces, err := k.connect(ctx)
	if err != nil || !c.Orphaned(ctx, time.Now()) {
		return nil, &runs.NotFoundError{Name: name}
	}
	m, err := c.Matrices().FindLeft(ctx, name, namespaces...)
	if err != nil || m == nil {
		return nil, &runs.NotFoundError{Name: name}
	}
	return &foundMatrix{access: k.Access, c: c, matrix: m}, nil
}

// List has a row for each matrix. What may not be listed, kind Kind says.
func (k MatrixKind) List(ctx context.Context, _ bool) ([]runs.Status, error) {
	c, namespaces, err := k.connect(ctx)
	if err != nil {
		return nil, err
	}
	found, _, err := inNamespaces(namespaces, func(n string) ([]Matrix, error) { return c.Matrices().List(ctx, n) })
	if err != nil {
		return nil, err
	}
	var rows []runs.Status
	for _, m := range found {
		row, err := m.row()
		if err != nil {
			return nil, err
		}
		row.Cluster = c.Name
		rows = append(rows, row)
	}
	return rows, nil
}

// NamesOf are the names of the matrices.
func (k MatrixKind) NamesOf(ctx context.Context) []string { return namesIn(k.List(ctx, false)) }

// row is a matrix as a line among runs.
func (m *Matrix) row() (runs.Status, error) {
	ms, err := m.Status()
	if err != nil {
		return runs.Status{}, err
	}
	s := runs.Status{Namespace: ms.Namespace, Experiment: ms.Experiment, Created: ms.Created,
		Model: m.Parent.Annotations[contract.AnnotationModel], Load: m.Parent.Annotations[contract.AnnotationLoad]}
	s.RunID, s.Attempt = ms.Matrix, 1
	s.State, s.Alive = ms.State, ms.Alive
	s.Started, s.Finished = ms.Created, ms.Finished
	s.Message, s.ExitCode = ms.Message, ms.ExitCode
	if ms.Verdict != "" {
		s.Results = local.Results{contract.ResultVerdict: *tektonv1.NewStructuredValues(ms.Verdict)}
	}
	return s, nil
}

// foundMatrix is a matrix of a cluster that was asked for.
type foundMatrix struct {
	access *Access
	c      *Cluster
	matrix *Matrix
}

var (
	_ runs.Matrix  = (*foundMatrix)(nil)
	_ runs.Fetcher = (*foundMatrix)(nil)
)

// Names are the name of the matrix.
func (f *foundMatrix) Names() []string { return []string{f.matrix.Name()} }

// Points are those that were submitted.
func (f *foundMatrix) Points() (int, string) { return f.matrix.Points(), f.matrix.Child(0) }

// Status says how far the matrix is.
func (f *foundMatrix) Status(context.Context) (runs.View, error) {
	status, err := f.matrix.Status()
	status.Cluster = f.c.Name
	return runs.View{Value: status, Table: func(w io.Writer,
		_ screen.Screen) error {
		return matrixStatusTable(w, f.matrix, status)
	}}, err
}

// Follow shows the matrix until it ends, and what came out.
func (f *foundMatrix) Follow(ctx context.Context, on runs.Console) (int, error) {
	return f.c.Matrices().followToEnd(ctx, on, f.matrix)
}

// Logs are those of one run.
func (f *foundMatrix) Logs(context.Context, runs.Console, runs.LogOptions) error {
	return runs.Single(f)
}

// Cancel asks for the end of all its runs.
func (f *foundMatrix) Cancel(ctx context.Context, force bool) (string, error) {
	met, err := f.c.Matrices().Cancel(ctx, f.matrix, force, time.Now())
	name := f.matrix.Name()
	switch {
	case err != nil:
		return "", err
	case met == WasOver:
		return fmt.Sprintf("%s has already ended; nothing was cancelled", name), nil
	}
	return fmt.Sprintf("stopping %s: no more runs start, and running ones are cleaned up; follow it with bflow watch %s",
		name, name), nil
}

// Rerun makes a new matrix of its points.
func (f *foundMatrix) Rerun(ctx context.Context, on runs.Console, o runs.RerunOptions) (int, error) {
	m, err := f.c.Matrices().Again(ctx, f.matrix, o.Failed, f.access.NewName)
	if errors.Is(err, ErrNothing) {
		fmt.Fprintf(on.Err, "%v\n", err)
		return contract.ExitPass, nil
	}
	if err != nil {
		return 0, err
	}
	status, err := m.Status()
	if err != nil {
		return 0, err
	}
	printSubmittedMatrix(on, f.c, m, status.Points, o.Follow)
	if !o.Follow {
		return contract.ExitPass, nil
	}
	return f.c.Matrices().followToEnd(ctx, on, m)
}

// Delete removes the matrix with all its runs.
func (f *foundMatrix) Delete(ctx context.Context, on runs.Console, o runs.DeleteOptions) error {
	name := f.matrix.Name()
	if o.KeepResults {
		return step.Usagef("deleting %s: --keep-results is for single runs; fetch the results of a matrix with bflow fetch",
			name)
	}
	held := func(why string) { fmt.Fprintf(on.Err, "waiting for %s: %s\n", name, why) }
	var err error
	if o.Force && f.c.Orphaned(ctx, time.Now()) {
		err = f.c.Matrices().DeleteOrphan(ctx, f.matrix, func(r *Run) error { return f.c.deleteRun(ctx, on, r, o.Force) },
			held)
	} else {
		err = f.c.Matrices().Delete(ctx, f.matrix, o.Force, held)
	}
	if ctx.Err() != nil {
		return step.Exit(contract.ExitInterrupted, fmt.Errorf("deleting %s: interrupted; its deletion continues", name))
	}
	if errors.Is(err, ErrAlive) {
		return fmt.Errorf("%w; cancel it with bflow cancel %s, or delete it anyway with --force", err, name)
	}
	return err
}

// Results are the summaries of its runs, at any time.
func (f *foundMatrix) Results(ctx context.Context, _ runs.Console) (runs.Results, error) {
	name := f.matrix.Name()
	briefs, err := f.c.Matrices().Briefs(ctx, f.matrix)
	if err != nil {
		return runs.Results{}, err
	}
	out := runs.Results{Reports: ReportsOf(briefs), Page: name + ".html"}
	if len(out.Reports) == 0 {
		return out, fmt.Errorf("reporting matrix %s: none of its runs has a summary yet; see its progress with bflow "+
			"status %s", name, name)
	}
	if n := len(briefs) - len(out.Reports); n > 0 {
		out.Note = fmt.Sprintf("it shows %d of %d points; the others have not ended, or have no summary",
			len(out.Reports), len(briefs))
	}
	return out, nil
}

// Fetch brings the results of all runs that have any. One whose results cannot be had keeps nobody from the others.
func (f *foundMatrix) Fetch(ctx context.Context, on runs.Console, o runs.FetchOptions) error {
	all, err := f.c.Matrices().Runs(ctx, f.matrix)
	if err != nil {
		return err
	}
	var problems []error
	begun := 0
	for i := range all {
		run := &all[i]
		if len(run.Last().Status.ChildReferences) == 0 || ctx.Err() != nil {
			continue
		}
		begun++
		one := o
		if one.Into != "" {
			one.Into = filepath.Join(one.Into, run.ID)
		}
		problems = append(problems, (&foundRun{access: f.access, c: f.c, run: run}).Fetch(ctx, on, one))
	}
	if ctx.Err() != nil {
		return step.Exit(contract.ExitInterrupted,
			fmt.Errorf("fetching the results of %s: interrupted; the files fetched so far are kept", f.matrix.Name()))
	}
	if begun == 0 {
		return fmt.Errorf("fetching the results of %s: none of its runs has started", f.matrix.Name())
	}
	return errors.Join(problems...)
}

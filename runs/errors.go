package runs

import (
	"fmt"
	"strings"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// NotFoundError is a name that no run has, or several. A kind that has nothing to say of it leaves Why empty.
type NotFoundError struct {
	Name  string
	Where string // "on cluster hub", "" for this machine
	Why   string
}

func (e *NotFoundError) Error() string {
	where := ""
	if e.Where != "" {
		where = " " + e.Where
	}
	return fmt.Sprintf("looking for run %q%s: %s", e.Name, where, e.Why)
}

// WhyNot says why name is that of no run at place: hits are those of names that begin so.
func WhyNot(name string, names, hits []string, place string) string {
	if len(hits) > 1 {
		return fmt.Sprintf("%d runs match: %s", len(hits), strings.Join(hits[:min(4, len(hits))], ", "))
	}
	if near := problem.Closest(name, names, 3); len(near) > 0 {
		return fmt.Sprintf("no such run %s; closest: %s", place, strings.Join(near, ", "))
	}
	return fmt.Sprintf("no such run among the %d %s%s", len(names), place, seeList)
}

// seeList ends a sentence about a name that nothing is like.
const seeList = "; see bflow list"

// MatrixError is a matrix where one run is asked for.
type MatrixError struct {
	Name string
	Runs int
	Such string // one of its runs
}

func (e *MatrixError) Error() string {
	return fmt.Sprintf("%s is a matrix of %d runs; name one of them, such as %s", e.Name, e.Runs, e.Such)
}

// NotMatrixError is one run where a matrix is asked for.
type NotMatrixError struct{ Name string }

func (e *NotMatrixError) Error() string {
	return fmt.Sprintf("reading flags of \"rerun\": --failed is for a matrix, and %s is one run", e.Name)
}

// Single refuses a matrix where one run is asked for.
func Single(r Run) error {
	m, several := r.(Matrix)
	if !several {
		return nil
	}
	n, such := m.Points()
	return step.Exit(contract.ExitUsage, &MatrixError{Name: r.Names()[0], Runs: n, Such: such})
}

// CodeError is an exit code whose reason a person has read already.
type CodeError struct{ error }

func (e *CodeError) Unwrap() error { return e.error }

// Code is an error that stands for an exit code alone, nil for that of a good end.
func Code(code int) error {
	if code == contract.ExitPass {
		return nil
	}
	return &CodeError{step.Exit(code, fmt.Errorf("exit code %d", code))}
}

package cluster

import (
	"context"
	"fmt"
	"io"
	"time"

	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/brief"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/tasks/step"
)

// followToEnd shows a matrix until it ends, and exits as its runs did.
func (ms Matrices) followToEnd(ctx context.Context, on runs.Console, m *Matrix) (int, error) {
	ended, err := ms.Show(ctx, on, m)
	if name := m.Name(); ctx.Err() != nil {
		return 0, step.Exit(contract.ExitInterrupted,
			fmt.Errorf("following %s: interrupted; it continues; follow it again with bflow watch %s, or end it "+
				"with bflow cancel %s", name, name, name))
	}
	if err != nil {
		return 0, err
	}
	return ms.Conclude(ctx, on, ended)
}

// Show shows a matrix until it ends, and returns how.
func (ms Matrices) Show(ctx context.Context, on runs.Console, m *Matrix) (*Matrix, error) {
	t := newLiveTable(on.Err, on.ErrScreen, on.Now)
	defer t.close()
	return ms.Follow(ctx, m, t.show, func(err error) { t.say("%s", interruption(err)) })
}

// Conclude says how a matrix ended, and returns the code that stands for all its runs.
func (ms Matrices) Conclude(ctx context.Context, on runs.Console, m *Matrix) (int, error) {
	status, err := m.Status()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	briefs, err := ms.Briefs(ctx, m)
	if err != nil {
		fmt.Fprintf(on.Err, "warning: %v\n", err)
	}
	fmt.Fprintf(on.Err, "%s: %s\n", m.Name(), status.Message)
	for _, note := range status.Notes {
		fmt.Fprintf(on.Err, "  %s\n", note)
	}
	_, outcomes, err := m.State()
	if err != nil {
		return 0, err
	}
	printRed(on, m, outcomes, briefs)
	if n := Failed(outcomes); n > 0 {
		fmt.Fprintf(on.Err, "bflow rerun %s --failed runs %d points again\n", m.Name(), n)
	}
	if reports := ReportsOf(briefs); len(reports) > 0 {
		if err := runs.SummaryTable(on.Out, on.OutScreen, reports); err != nil {
			return 0, err
		}
	}
	return m.Exit(briefs)
}

// printRed says of the first runs that are red why.
func printRed(on runs.Console, m *Matrix, outcomes []state.Outcome, briefs []*brief.Brief) {
	const most = 10
	printed := 0
	for i, o := range outcomes {
		if !o.Red() || printed == most {
			continue
		}
		printed++
		why := o.Word()
		if i < len(briefs) && briefs[i] != nil {
			why = reasonOf(briefs[i], why)
		}
		fmt.Fprintf(on.Err, "  %s: %s\n", m.Child(i), why)
	}
}

func matrixStatusTable(w io.Writer, m *Matrix, r MatrixStatus) error {
	fmt.Fprintf(w, "Matrix:\t%s\nState:\t%s\nCluster:\t%s, namespace %s\n", r.Matrix, r.State, r.Cluster, r.Namespace)
	fmt.Fprintf(w, "Points:\t%d: %s\n", r.Points, r.Counts)
	if !r.Finish.IsZero() && r.Alive {
		fmt.Fprintf(w, "Ends:\tabout %s (in %s)\n", runs.Clock(r.Finish), state.Rough(time.Until(r.Finish)))
	}
	if r.Verdict != "" {
		fmt.Fprintf(w, "Verdict:\t%s\n", r.Verdict)
	}
	if r.Message != "" {
		fmt.Fprintf(w, "Message:\t%s\n", r.Message)
	}
	for _, line := range r.Waits {
		fmt.Fprintf(w, "Waits:\t%s\n", line)
	}
	for _, line := range r.Notes {
		fmt.Fprintf(w, "Note:\t%s\n", line)
	}
	_, outcomes, err := m.State()
	if err != nil {
		return err
	}
	const most = 20
	bad := 0
	for i, o := range outcomes {
		if !o.Ended() || o.Good() {
			continue
		}
		if bad++; bad == 1 {
			fmt.Fprintln(w, "\nRUN\tPOINT\tOUTCOME")
		}
		if bad <= most {
			fmt.Fprintf(w, "%s\t%d\t%s\n", m.Child(i), i+1, o.Word())
		}
	}
	if bad > most {
		fmt.Fprintf(w, "and %d more\n", bad-most)
	}
	return nil
}

// ReportsOf are the reports of points, as far as their summaries go, in the order of the points.
func ReportsOf(briefs []*brief.Brief) []*report.Report {
	var out []*report.Report
	for _, b := range briefs {
		if b != nil {
			out = append(out, b.Report())
		}
	}
	return out
}

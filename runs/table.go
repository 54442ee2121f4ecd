package runs

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/progress"
)

// StatusTable writes what a person wants to know of one run, with a line for each task.
func StatusTable(w io.Writer, on screen.Screen, r Status) error {
	fmt.Fprintf(w, "Run:\t%s\nState:\t%s\nAttempt:\t%d\n", r.RunID, on.Paint(string(r.State)), r.Attempt)
	if r.RunDir != "" {
		fmt.Fprintf(w, "Folder:\t%s\n", r.RunDir)
	}
	if r.Namespace != "" {
		fmt.Fprintf(w, "Cluster:\t%s, namespace %s\n", r.Cluster, r.Namespace)
	}
	queueRows(w, r)
	if v := r.Verdict(); v != "" {
		fmt.Fprintf(w, "Verdict:\t%s\n", on.Paint(screen.Plain(v)))
	}
	if r.Volume != "" {
		fmt.Fprintf(w, "Volume:\t%s\n", screen.Plain(r.Volume))
	}
	if r.Message != "" {
		fmt.Fprintf(w, "Message:\t%s\n", screen.Plain(r.Message))
	}
	if r.State == local.Interrupted {
		fmt.Fprintf(w, "Next:\tbflow resume %s\n", r.RunID)
	}
	if r.Queue != nil && r.Queue.Neighbours != nil {
		neighbourRows(w, on, r.Queue.Neighbours, time.Now())
	}
	if len(r.Tasks) > 0 {
		fmt.Fprintln(w, "\nTASK\tSTATE\tTIME\tEXIT\tMESSAGE")
	}
	for _, t := range r.Tasks {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", progress.Part(t.Name, t.Step), t.State, took(t.Started, t.Finished,
			r.Alive && t.State == local.Running), t.ExitCode, screen.Plain(progress.Reason(t.Message)))
	}
	if len(r.Engine) > 0 {
		fmt.Fprintln(w, "\nENGINE POD\tSTATE\tRESTARTS\tNODE\tMESSAGE")
	}
	for _, p := range r.Engine {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", p.Name, p.State, p.Restarts, p.Node, p.Message)
	}
	return nil
}

// queueRows say what a run has asked its queue for, and what it has got.
func queueRows(w io.Writer, r Status) {
	q := r.Queue
	if q == nil {
		return
	}
	fmt.Fprintf(w, "Queue:\t%s\n", q.Name)
	if text := amounts(q.Requests); text != "" {
		fmt.Fprintf(w, "Asks for:\t%s\n", text)
	}
	if !q.Admitted.IsZero() {
		fmt.Fprintf(w, "Admitted:\t%s, after %s\n", Clock(q.Admitted), q.Admitted.Sub(r.Created).Round(time.Second))
	}
	switch {
	case !q.Released.IsZero():
		fmt.Fprintf(w, "Released:\t%s, all its objects are deleted\n", Clock(q.Released))
	case !q.Freed.IsZero():
		fmt.Fprintf(w, "GPUs free:\t%s\n", Clock(q.Freed))
	case !q.Admitted.IsZero() && !r.Alive:
		fmt.Fprintf(w, "Released:\tnot yet: %s\n", cmp.Or(q.Reason,
			"bflow-controller deletes what is left of it"))
	}
}

// Clock is a time as people read it.
func Clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// amounts are what a run asks its queue for, devices first: "4 nvidia.com/gpu, 1 bflow.dev/cluster-slot".
func amounts(requests map[string]string) string {
	names := slices.SortedFunc(maps.Keys(requests), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	var out []string
	for _, name := range names {
		out = append(out, requests[name]+" "+name)
	}
	return strings.Join(out, ", ")
}

// rank orders what a run asks for by how much people wait for it.
func rank(resource string) int {
	switch {
	case resource == contract.ResourceSlot: // which every run asks for
		return 2
	case strings.Contains(resource, "/"): // as all names of devices do
		return 0
	}
	return 1
}

// neighboursShown bounds the rows about other runs.
const neighboursShown = 10

// neighbourRows say who holds what a run waits for, for how long, and which runs come before it.
func neighbourRows(w io.Writer, on screen.Screen, near *Neighbours, now time.Time) {
	age := func(n Neighbour) string {
		return max(0, now.Sub(n.Since)).Round(time.Second).String() // this clock may be behind the cluster's
	}
	neighbourTable(w, on, near.Holders, "HELD BY", "FOR", func(n Neighbour) string {
		if n.Ending {
			return age(n) + ", ending"
		}
		return age(n)
	})
	neighbourTable(w, on, near.Before, "BEFORE IT", "WAITING", func(n Neighbour) string {
		return fmt.Sprintf("%s, place %d", age(n), n.Place)
	})
	if near.Hidden {
		fmt.Fprintln(w, "\nruns in other namespaces may use the rest; you are not allowed to see them")
	}
}

// neighbourTable writes a row per run; runHead and timeHead are the heads of its name and of what timeOf says of it.
func neighbourTable(w io.Writer, on screen.Screen, runs []Neighbour, runHead, timeHead string,
	timeOf func(Neighbour) string,
) {
	if len(runs) == 0 {
		return
	}
	t := screen.Table{Gap: 2, Columns: []screen.Column{{Head: runHead}, {Head: "NAMESPACE", Rank: 1}, {Head: timeHead},
		{Head: "ASKS FOR", Cut: screen.End}}}
	for _, n := range runs[:min(len(runs), neighboursShown)] {
		t.Row(n.Run, n.Namespace, timeOf(n), amounts(n.Requests))
	}
	fmt.Fprintln(w)
	_, _ = t.Write(w, on) // into the buffer of a tab writer
	if rest := len(runs) - neighboursShown; rest > 0 {
		fmt.Fprintf(w, "and %d more\n", rest)
	}
}

// ListTable writes a line for each run.
func ListTable(w io.Writer, on screen.Screen, runs []Status) error {
	t := screen.Table{Gap: 2, Columns: []screen.Column{
		{Head: "RUN"}, {Head: "NAMESPACE", Rank: 4}, {Head: "STATE", Paint: true}, {Head: "VERDICT", Paint: true},
		{Head: "MODEL", Cut: screen.Middle, Rank: 1}, {Head: "LOAD", Cut: screen.End, Rank: 1},
		{Head: "TTFT p50", Right: true, Rank: 1}, {Head: "STARTED", Rank: 2}, {Head: "TIME", Rank: 3},
		{Head: "MESSAGE", Cut: screen.End, Rank: 5},
	}}
	for _, r := range runs {
		ttft := ""
		if r.TTFT != nil {
			ttft = fmt.Sprintf("%.1f ms", *r.TTFT)
		}
		message := progress.Reason(r.Message)
		if r.Attempt > 1 {
			message = fmt.Sprintf("attempt %d: %s", r.Attempt, message)
		}
		t.Row(r.RunID, cmp.Or(r.Namespace, "(here)"), string(r.State), r.Verdict(), r.Model, r.Load, ttft,
			r.Started.Local().Format("2006-01-02 15:04"), took(r.Started, r.Finished, r.Alive), message)
	}
	if !slices.ContainsFunc(runs, func(r Status) bool { return r.Namespace != "" }) {
		t.Without("NAMESPACE")
	}
	_, err := t.Write(w, on)
	return err
}

// took is how long something ran, or has run.
func took(started, finished time.Time, alive bool) string {
	switch {
	case started.IsZero():
		return "-"
	case !finished.IsZero():
		return finished.Sub(started).Round(100 * time.Millisecond).String()
	case alive:
		return time.Since(started).Round(time.Second).String()
	default:
		return "-"
	}
}

package app

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/runplan/contract"
	clusterrun "bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/runs/progress"
)

func statusCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "show the progress of a run",
		ArgsUsage: "RUN",
		Flags:     worldFlags(outputFlag(), plainFlag()),
		Action: func(c *cli.Context) error {
			p, err := placeArg(c)
			if err != nil {
				return err
			}
			if p.matrix != nil {
				return showMatrix(c, s, p)
			}
			if p.points != nil {
				return p.points.show(c, s)
			}
			var status clusterrun.Status
			if p.run != nil {
				status, err = p.cluster.Status(c.Context, p.run)
			} else {
				status.Status, err = local.StatusOf(p.dir)
			}
			if err != nil {
				return err
			}
			return show(c, s.Out, status, func(w io.Writer) error { return statusTable(w, screenOf(c, s.Out), status) })
		},
	}
}

func statusTable(w io.Writer, on screen.Screen, r clusterrun.Status) error {
	fmt.Fprintf(w, "Run:\t%s\nState:\t%s\nAttempt:\t%d\n", r.RunID, on.Paint(string(r.State)), r.Attempt)
	if r.RunDir != "" {
		fmt.Fprintf(w, "Folder:\t%s\n", r.RunDir)
	}
	if r.Namespace != "" {
		fmt.Fprintf(w, "Cluster:\t%s, namespace %s\n", r.Cluster, r.Namespace)
	}
	queueRows(w, r)
	if v := r.Verdict(); v != "" {
		fmt.Fprintf(w, "Verdict:\t%s\n", on.Paint(v))
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", progress.Part(t.Name, t.Step), t.State, took(t.Started, t.Finished, r.Alive && t.State == local.Running), t.ExitCode, screen.Plain(progress.Reason(t.Message)))
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
func queueRows(w io.Writer, r clusterrun.Status) {
	q := r.Queue
	if q == nil {
		return
	}
	fmt.Fprintf(w, "Queue:\t%s\n", q.Name)
	if text := amounts(q.Requests); text != "" {
		fmt.Fprintf(w, "Asks for:\t%s\n", text)
	}
	if !q.Admitted.IsZero() {
		fmt.Fprintf(w, "Admitted:\t%s, after %s\n", clock(q.Admitted), q.Admitted.Sub(r.Created).Round(time.Second))
	}
	switch {
	case !q.Released.IsZero():
		fmt.Fprintf(w, "Released:\t%s, all its objects are deleted\n", clock(q.Released))
	case !q.Freed.IsZero():
		fmt.Fprintf(w, "GPUs free:\t%s\n", clock(q.Freed))
	case !q.Admitted.IsZero() && !r.Alive:
		fmt.Fprintf(w, "Released:\tnot yet: %s\n", cmp.Or(q.Reason, "bflow-controller deletes what is left of it"))
	}
}

func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

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
func neighbourRows(w io.Writer, on screen.Screen, near *clusterrun.Neighbours, now time.Time) {
	age := func(n clusterrun.Neighbour) string {
		return max(0, now.Sub(n.Since)).Round(time.Second).String() // this clock may be behind the cluster's
	}
	neighbourTable(w, on, near.Holders, "HELD BY", "FOR", func(n clusterrun.Neighbour) string {
		if n.Ending {
			return age(n) + ", ending"
		}
		return age(n)
	})
	neighbourTable(w, on, near.Before, "BEFORE IT", "WAITING", func(n clusterrun.Neighbour) string {
		return fmt.Sprintf("%s, place %d", age(n), n.Place)
	})
	if near.Hidden {
		fmt.Fprintln(w, "\nruns in other namespaces may use the rest; you are not allowed to see them")
	}
}

// neighbourTable writes a row per run; runHead and timeHead are the heads of its name and of what timeOf says of it.
func neighbourTable(w io.Writer, on screen.Screen, runs []clusterrun.Neighbour, runHead, timeHead string,
	timeOf func(clusterrun.Neighbour) string,
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

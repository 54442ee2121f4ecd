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

	"bflow.dev/bflow/cmd/bflow/clusterrun"
	"bflow.dev/bflow/cmd/bflow/progress"
	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/pipelines/local"
)

func statusCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "say how far a run is",
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
		neighbourRows(w, r.Queue.Neighbours, time.Now())
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
		fmt.Fprintf(w, "Released:\t%s, nothing of it is left\n", clock(q.Released))
	case !q.Freed.IsZero():
		fmt.Fprintf(w, "GPUs free:\t%s\n", clock(q.Freed))
	case !q.Admitted.IsZero() && !r.Alive:
		fmt.Fprintf(w, "Released:\tnot yet: %s\n", cmp.Or(q.Reason, "bflow-controller makes sure that nothing of it is left"))
	}
}

func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// amounts are what a run asks its queue for: "4 nvidia.com/gpu".
func amounts(requests map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		out = append(out, requests[name]+" "+name)
	}
	return strings.Join(out, ", ")
}

// neighboursShown bounds the rows about other runs.
const neighboursShown = 10

// neighbourRows say who holds what a run waits for, since when, and which runs come before it.
func neighbourRows(w io.Writer, near *clusterrun.Neighbours, now time.Time) {
	rows := func(head string, runs []clusterrun.Neighbour, since func(clusterrun.Neighbour) string) {
		for i, n := range runs {
			if i == 0 {
				fmt.Fprintf(w, "\n%s\tNAMESPACE\tASKS FOR\tSINCE\n", head)
			}
			if i == neighboursShown {
				fmt.Fprintf(w, "and %d more\n", len(runs)-i)
				break
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", n.Run, n.Namespace, amounts(n.Requests), since(n))
		}
	}
	rows("HELD BY", near.Holders, func(n clusterrun.Neighbour) string {
		text := fmt.Sprintf("%s (%s)", clock(n.Since), now.Sub(n.Since).Round(time.Second))
		if n.Ending {
			text += ", it has ended and is being taken down"
		}
		return text
	})
	rows("BEFORE IT", near.Before, func(n clusterrun.Neighbour) string {
		return fmt.Sprintf("%s, place %d", clock(n.Since), n.Place)
	})
	if near.Hidden {
		fmt.Fprintln(w, "\nruns of other namespaces may hold the rest; they are not shown to you")
	}
}

package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"bflow.dev/bflow/pipelines/local"
	queuerun "bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"
	clusterrun "bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/runs/leaks"
	"bflow.dev/bflow/tasks/provision"
	"bflow.dev/bflow/tasks/step"

	"github.com/urfave/cli/v2"
	wallclock "k8s.io/utils/clock"
)

func deleteCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "delete",
		Usage:     "delete runs and all their objects and results",
		ArgsUsage: "RUN...",
		Flags: worldFlags(yesFlag(),
			&cli.BoolFlag{Name: "force", Usage: "on a cluster: also delete a run that has not ended; without bflow-controller, clean up from here and report what could not be verified"},
			&cli.BoolFlag{Name: "keep-results", Usage: "on a cluster: fetch the results first, and keep that copy"}),
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return step.Usagef("reading arguments of \"delete\": want at least one run")
			}
			for _, name := range c.Args().Slice() { // before any is deleted
				if err := named(name, "run"); err != nil {
					return err
				}
			}
			for _, name := range c.Args().Slice() {
				p, err := locateDeletable(c, name)
				if err == nil {
					err = p.certain(c)
				}
				switch {
				case err != nil:
				case p.matrix != nil:
					err = deleteMatrix(c, s, p)
				case p.points != nil:
					err = p.points.delete(c)
				case p.run != nil:
					err = deleteOnCluster(c, s, p)
				default:
					err = deleteHere(c, p.dir)
				}
				if err != nil {
					return err
				}
				fmt.Fprintf(s.Err, "deleted %s\n", name)
			}
			return nil
		},
	}
}

// locateDeletable is locateAny, and by force finds what is left of a matrix whose parent was deleted, where no controller
// lets it go.
func locateDeletable(c *cli.Context, name string) (place, error) {
	p, err := locateAny(c, name)
	whole := err == nil && (p.run == nil || p.run.ID == name)
	if whole || !c.Bool("force") || c.Bool("local") || !clusterAsked(c) && !clusterKnown(c) {
		return p, err
	}
	cluster, namespaces, unreached := connect(c)
	if unreached != nil || !cluster.Orphaned(c.Context, time.Now()) {
		return p, err
	}
	if m, unread := cluster.FindLeftMatrix(c.Context, name, namespaces...); unread == nil && m != nil {
		return place{name: name, cluster: cluster, matrix: m}, nil
	}
	return p, err
}

func deleteHere(c *cli.Context, dir string) error {
	if err := provision.Teardown(c.Context, dir); err != nil {
		return err
	}
	return local.Delete(dir)
}

func deleteOnCluster(c *cli.Context, s Streams, p place) error {
	if c.Bool("keep-results") {
		dir, err := fetchCopy(c, s, p, nil)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.Err, "the results of %s are in %s\n", p.run.ID, dir)
	}
	err := deleteRun(c, s, p)
	if c.Err() != nil {
		return step.Exit(contract.ExitInterrupted, fmt.Errorf("deleting %s: interrupted; its deletion continues", p.run.ID))
	}
	if errors.Is(err, clusterrun.ErrAlive) {
		return fmt.Errorf("%w; cancel it with bflow cancel %s, or delete it anyway with --force", err, p.run.ID)
	}
	if err != nil || c.Bool("keep-results") {
		return err
	}
	dir, err := copyDir(c, p.run.ID)
	if err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// deleteRun deletes a run with the help of the controller, or without it where that is gone.
func deleteRun(c *cli.Context, s Streams, p place) error {
	held := func(why string) { fmt.Fprintf(s.Err, "waiting for %s: %s\n", p.run.ID, why) }
	if !c.Bool("force") || !p.cluster.Orphaned(c.Context, time.Now()) {
		return p.cluster.Delete(c.Context, p.run, c.Bool("force"), held)
	}
	last := p.run.Last()
	orphan := leaks.Orphan{Namespace: p.run.Namespace, ID: p.run.ID, Target: queuerun.Target(last),
		Metrics: last.Annotations[contract.AnnotationMetrics] != ""}
	for _, pr := range p.run.Attempts {
		orphan.Attempts, orphan.UIDs = append(orphan.Attempts, pr.Name), append(orphan.UIDs, string(pr.UID))
	}
	fmt.Fprintf(s.Err, "%s is not running; deleting %s without it\n", contract.AccountController, p.run.ID)
	return p.cluster.DeleteOrphan(c.Context, p.run, func(ctx context.Context) {
		for _, what := range leaks.TearDown(ctx, p.cluster.Config, orphan, wallclock.RealClock{}) {
			fmt.Fprintf(s.Err, "could not verify that %s\n", what)
		}
	}, held)
}

package app

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/pipelines/local"
	clusterrun "bflow.dev/bflow/runs/cluster"
)

func cancelCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "cancel",
		Usage:     "cancel a run, or all runs of a matrix; finally tasks still clean up",
		ArgsUsage: "RUN",
		Flags:     worldFlags(yesFlag(), &cli.BoolFlag{Name: "force", Usage: "on a cluster: skip the remaining tasks and release the quota at once; bflow-controller cleans up as soon as it can"}),
		Action: func(c *cli.Context) error {
			p, err := placeArg(c)
			if err == nil {
				err = p.certain(c)
			}
			if err != nil {
				return err
			}
			if p.matrix != nil {
				return cancelMatrix(c, s, p)
			}
			if p.points != nil {
				return p.points.cancel(s)
			}
			if p.run != nil {
				return cancelOnCluster(c, s, p)
			}
			if err := local.Cancel(p.dir); err != nil {
				return err
			}
			fmt.Fprintf(s.Err, "asked the executor of %s to stop; follow it with bflow watch\n", p.name)
			return nil
		},
	}
}

func cancelOnCluster(c *cli.Context, s Streams, p place) error {
	met, err := p.cluster.Cancel(c.Context, p.run, c.Bool("force"), time.Now())
	if err != nil {
		return err
	}
	switch id := p.run.ID; met {
	case clusterrun.WasQueued:
		fmt.Fprintf(s.Err, "cancelled %s; it was waiting and will not start\n", id)
	case clusterrun.WasOver:
		fmt.Fprintf(s.Err, "%s has already ended; nothing was cancelled\n", id)
	default:
		fmt.Fprintf(s.Err, "stopping %s; its finally tasks clean up; follow it with bflow watch %s\n", id, id)
	}
	return nil
}

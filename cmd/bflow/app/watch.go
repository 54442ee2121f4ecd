package app

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	clusterrun "bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/runs/progress"
	"bflow.dev/bflow/tasks/step"
)

func watchCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "watch",
		Usage:     "follow a run until it ends, and exit with its code",
		ArgsUsage: "RUN",
		Flags:     worldFlags(plainFlag()),
		Action: func(c *cli.Context) error {
			p, err := placeArg(c)
			if err != nil {
				return err
			}
			if p.matrix != nil {
				code, err := followMatrix(c, s, p.cluster, p.matrix)
				if err != nil {
					return err
				}
				return silently(code)
			}
			if p.points != nil {
				return p.points.single(c)
			}
			if p.run != nil {
				return followCluster(c, s, p.cluster, []*clusterrun.Run{p.run}, nil)
			}
			status, err := follow(c, s, p.dir)
			if err != nil {
				return err
			}
			fmt.Fprintf(s.Err, "%s: %s: %s\n", status.RunID, status.State, progress.Reason(status.Message))
			return silently(status.ExitCode)
		},
	}
}

// follow shows the transitions of a run that another process executes.
func follow(c *cli.Context, s Streams, dir string) (local.Status, error) {
	plan, err := runplan.Read(dir)
	if err != nil {
		return local.Status{}, err
	}
	status, err := local.StatusOf(dir)
	if err != nil {
		return status, err
	}
	display := newDisplay(c, s, 1)
	defer display.Close()
	observer := display.Start(status.RunID, dir, plan)
	seen := map[string]local.State{}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, r := range changes(status, seen) {
			observer.Changed(r)
		}
		if !status.Alive {
			return status, nil
		}
		select {
		case <-c.Done():
			return status, step.Exit(contract.ExitInterrupted, fmt.Errorf("watching %s: interrupted; the run continues", status.RunID))
		case <-tick.C:
		}
		if status, err = local.StatusOf(dir); err != nil {
			return status, err
		}
	}
}

// changes are the transitions since the last look, as the executor would have told them.
func changes(status local.Status, seen map[string]local.State) []local.Record {
	var out []local.Record
	for _, t := range status.Tasks {
		before := seen[t.Name]
		if t.State == before || t.State == local.Running && t.Started.IsZero() {
			continue
		}
		seen[t.Name] = t.State
		if !t.Started.IsZero() && before != local.Running { // it begins once: what was shown of it would be forgotten
			out = append(out, local.Record{Kind: local.TaskStarted, Task: t.Name, Time: t.Started})
		}
		if t.State.Done() && t.State != local.Skipped {
			out = append(out, local.Record{Kind: local.TaskFinished, Task: t.Name, Step: t.Step, Time: t.Finished, State: t.State, Message: t.Message})
		}
	}
	return out
}

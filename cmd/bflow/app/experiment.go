package app

import (
	"time"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/runs/experiment"
)

// experimentCommand is the task of Pipeline bflow-experiment.
func experimentCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:   "experiment",
		Usage:  "submit the experiment given by the params of a PipelineRun, and wait for its verdict",
		Hidden: true, // it is for pods
		Description: "The task of Pipeline " + contract.Experiment + ". It reads the params of the PipelineRun that " +
			"its pod belongs to, submits the runs as bflow run does, " +
			"waits for them and exits with their code. Cancels the runs if the PipelineRun is cancelled.",
		Flags: append(podFlags(),
			&cli.StringFlag{Name: "git-dir", Usage: "folder of the Secret with the credentials for git servers"},
			&cli.StringFlag{Name: "pipelinerun", Usage: "PipelineRun whose params describe what to run; required"},
			&cli.StringFlag{Name: "taskrun", Usage: "name of this TaskRun"},
			&cli.StringFlag{Name: "namespace", Usage: "namespace of the PipelineRun and of the runs; required"},
			&cli.StringFlag{Name: "verdict-result", Usage: "file to write the verdict to"},
			&cli.StringFlag{Name: "runs-result", Usage: "file to write the names of the runs to"},
			&cli.StringFlag{Name: "plan-hashes-result", Usage: "file to write the plan hashes of the runs to"},
		),
		Action: func(c *cli.Context) error {
			on := runs.Console{Out: s.Err, Err: s.Err, Now: time.Now} // a log has one order, which two pipes do not keep
			access := func() (*kube.Config, error) { return podAccess(c) }
			code, err := experiment.Run(c.Context, on, access, experiment.Options{
				Namespace: c.String("namespace"), PipelineRun: c.String("pipelinerun"), TaskRun: c.String("taskrun"),
				GitDir: c.String("git-dir"),
				Results: experiment.Results{Verdict: c.String("verdict-result"), Runs: c.String("runs-result"),
					PlanHashes: c.String("plan-hashes-result")}})
			return exit(c, code, err)
		},
	}
}

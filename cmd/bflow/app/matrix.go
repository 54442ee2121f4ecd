package app

import (
	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/matrix"
	"bflow.dev/bflow/tasks/step"
)

// matrixCommand holds the tasks around the runs of a matrix.
func matrixCommand(s Streams) *cli.Command {
	flags := func(more ...cli.Flag) []cli.Flag {
		return append(append(podFlags(),
			&cli.StringFlag{Name: "pipelinerun", Usage: "parent PipelineRun of the matrix; required"},
			&cli.StringFlag{Name: "pipelinerun-uid", Usage: "its UID"},
			&cli.StringFlag{Name: "namespace", Usage: "namespace of the matrix; required"},
			&cli.StringFlag{Name: "experiment", Usage: "MLflow experiment"},
		), more...)
	}
	const begin, aggregate = "run-id-result", "verdict-result"
	return &cli.Command{
		Name: "matrix", Usage: "tasks that run before and after the runs of a matrix", Hidden: true, // they are for pods
		Subcommands: []*cli.Command{
			{Name: contract.MatrixBegin, Usage: "create the MLflow parent run of a matrix",
				Flags: flags(&cli.StringFlag{Name: begin, Usage: "file to write the id of the MLflow run to"}),
				Action: func(c *cli.Context) error {
					return matrix.Begin(c.Context, console(c, s), matrixOptions(c,
						begin))
				}},
			{Name: contract.MatrixAggregate, Usage: "summarise the runs of a matrix",
				Flags: flags(&cli.StringFlag{Name: aggregate, Usage: "file to write the verdict to"}),
				Action: func(c *cli.Context) error {
					access := func() (*kube.Config, error) { return podAccess(c) }
					return matrix.Aggregate(c.Context, console(c, s), access, matrixOptions(c, aggregate))
				}},
			gatherCommand(s),
		},
	}
}

// matrixOptions are those of a task whose result goes into the file of a flag.
func matrixOptions(c *cli.Context, result string) matrix.Options {
	return matrix.Options{Parent: c.String("pipelinerun"), UID: c.String("pipelinerun-uid"),
		Namespace:  c.String("namespace"),
		Experiment: c.String("experiment"), Result: c.String(result)}
}

// gatherCommand is the task that copies results of runs to the volume of their matrix.
func gatherCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: contract.RoleGather, Usage: "copy the results of runs to the shared volume of their matrix",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "folder with the volume of each run, named after the run; required"},
			&cli.StringFlag{Name: "into", Usage: "folder for the results of all runs of the matrix; required"},
			&cli.StringFlag{Name: "gathered-result", Usage: "file to write the names of the runs with copied results to"},
		},
		Action: func(c *cli.Context) error {
			if c.String("from") == "" || c.String("into") == "" {
				return step.Usagef("reading flags of \"matrix %s\": want --from and --into; this command is a task of a "+
					"matrix that bflow run submitted", contract.RoleGather)
			}
			return matrix.Gather(c.Context, console(c, s), c.String("from"), c.String("into"),
				c.String("gathered-result"))
		},
	}
}

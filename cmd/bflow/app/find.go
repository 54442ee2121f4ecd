package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	executor "bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/runs/local"
	"bflow.dev/bflow/tasks/step"
)

// defaultNamespace is where the runs of an experiment live that names no namespace.
const defaultNamespace = "benchflow"

// runsDirFlag says where local runs lie.
func runsDirFlag() cli.Flag {
	return &cli.StringFlag{Name: "runs-dir", Usage: "folder of local runs (default: ~/.local/share/bflow/runs)"}
}

// runsDir is the folder of local runs, absolute.
func runsDir(c *cli.Context) (string, error) {
	if dir := c.String("runs-dir"); dir != "" {
		return filepath.Abs(dir)
	}
	return executor.Root(os.Getenv)
}

// findFlags say where a run is looked for: first on this machine, then on the cluster.
func findFlags(more ...cli.Flag) []cli.Flag {
	return append(append([]cli.Flag{runsDirFlag(),
		&cli.BoolFlag{Name: "local", Usage: "look only for runs of this machine"},
		&cli.BoolFlag{Name: "cluster", Usage: "look only for runs of the cluster"},
		&cli.StringFlag{Name: "namespace", Aliases: []string{"n"},
			Usage: "namespace of the run (default: all that you may list)"},
	}, kubeFlags()...), more...)
}

// kindsOf holds every kind of run there is: a new kind is one line here.
func kindsOf(c *cli.Context, s Streams) *runs.Registry {
	root := func() (string, error) { return runsDir(c) }
	there := access(c)
	r := &runs.Registry{
		Local: []runs.Kind{
			local.Kind{Root: root, Options: func() (local.Options, func(), error) { return localOptions(c, s) }},
			local.MatrixKind{Root: root},
		},
		Cluster: []runs.Kind{
			cluster.MatrixKind{Access: there},
			cluster.Kind{Access: there},
		},
		ClusterKnown: source(c).IsKnown(),
	}
	if s.kinds != nil {
		s.kinds(r)
	}
	return r
}

// access is the way to the cluster that the flags name.
func access(c *cli.Context) *cluster.Access {
	return &cluster.Access{Copies: cluster.Copies{Root: func() (string, error) { return runsDir(c) }}, NewName: newName,
		Open: func(ctx context.Context) (*cluster.Cluster, []string, error) {
			cfg, current, err := source(c).Read()
			if err != nil {
				return nil, nil, err
			}
			hub, err := cluster.Connect(ctx, cfg, source(c).ContextName())
			if n := c.String("namespace"); n != "" {
				return hub, []string{n}, err
			}
			return hub, slices.Compact([]string{"", current, defaultNamespace}), err
		}}
}

func newName(base string) string { return local.NewRunID(base, time.Now()) }

// whereOf says where the flags want a run looked for.
func whereOf(c *cli.Context) (runs.Where, error) {
	if c.Bool("local") && c.Bool("cluster") {
		return runs.Where{}, step.Usagef("reading flags of %q: --local and --cluster exclude each other",
			c.Command.Name)
	}
	return runs.Where{Local: !c.Bool("cluster"), Cluster: !c.Bool("local")}, nil
}

// findRun finds the run, or the matrix, of a name.
func findRun(c *cli.Context, s Streams, name string) (runs.Run, error) {
	where, err := whereOf(c)
	if err != nil {
		return nil, err
	}
	return kindsOf(c, s).Find(c.Context, name, where)
}

// runArg finds the run, or the matrix, that the command's one argument names.
func runArg(c *cli.Context, s Streams) (runs.Run, error) {
	name, err := oneArg(c, "run")
	if err != nil {
		return nil, err
	}
	return findRun(c, s, name)
}

// yesFlag lets a verb that destroys take a run by the start of its name.
func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Usage: "accept the start of a name, if only one run matches"}
}

// requireWhole refuses a run that was found by the start of its name only, where it may have been another that was
// meant. A path is nobody's start.
func requireWhole(c *cli.Context, run runs.Run, name string) error {
	names := run.Names()
	if slices.Contains(names, name) || filepath.Base(name) != name || c.Bool("yes") {
		return nil
	}
	return step.Usagef("reading arguments of %q: %q is the start of a name; give the full name, %s, or add --yes",
		c.Command.Name, name, names[0])
}

// clusterAsked reports whether a person spoke of the cluster, so that its absence is an error.
func clusterAsked(c *cli.Context) bool {
	return c.Bool("cluster") || c.IsSet("kubeconfig") || c.IsSet("context") || c.IsSet("namespace")
}

// exit ends a command with the exit code of runs, or with what kept it from them.
func exit(c *cli.Context, code int, err error) error {
	var several *runs.MatrixError
	if errors.As(err, &several) {
		return fmt.Errorf("reading arguments of %q: %w", c.Command.Name, err)
	}
	if err != nil {
		return err
	}
	return runs.Code(code)
}

// console is where runs are spoken of.
func console(c *cli.Context, s Streams) runs.Console {
	return runs.Console{Out: s.Out, Err: s.Err, OutScreen: screenOf(c, s.Out), ErrScreen: screenOf(c, s.Err),
		Now: time.Now}
}

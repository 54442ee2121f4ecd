package app

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/bootstrap"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

func bootstrapNamespaceCommand(s Streams) *cli.Command {
	timeout := &cli.DurationFlag{
		Name: "timeout", Value: 5 * time.Minute, Usage: "how long to wait until objects are ready or deleted",
	}
	return &cli.Command{
		Name:  "namespace",
		Usage: "add and remove namespaces for runs on a cluster where bflow is installed",
		Subcommands: []*cli.Command{{
			Name:      "add",
			Usage:     "set up a namespace for runs, or update its setup",
			ArgsUsage: "NAME",
			Description: "Creates the namespace if it does not exist, and in it the service accounts, RBAC, queues " +
				"and ConfigMap that bootstrap creates. " +
				"Leaves the rest of the installation unchanged.",
			Flags: kubeFlags(
				&cli.BoolFlag{Name: "adopt", Usage: "take over existing objects that have the names of bflow's objects"},
				&cli.BoolFlag{Name: "force-conflicts", Usage: "take ownership of fields that other field managers own"},
				timeout),
			Action: onNamespace(s, (*bootstrap.Hub).AddNamespace),
		}, {
			Name:      "remove",
			Usage:     "drain a namespace for runs and remove its setup",
			ArgsUsage: "NAME",
			Description: "Fails while runs are queued or running there, unless --wait is given. Deletes the " +
				"namespace if bootstrap created it " +
				"and it holds nothing else. Keeps objects of others, and the results of runs unless --data is given.",
			Flags: kubeFlags(
				&cli.DurationFlag{
					Name:  "wait",
					Usage: "how long to wait for runs that are queued or running there (default: do not wait)",
				},
				&cli.BoolFlag{Name: "data", Usage: "also delete the results of runs"},
				timeout),
			Action: onNamespace(s, (*bootstrap.Hub).RemoveNamespace),
		}},
	}
}

// onNamespace does something to the namespace that the arguments name.
func onNamespace(s Streams, do func(*bootstrap.Hub, context.Context, bootstrap.NamespaceOptions) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		name, err := oneArg(c, "namespace")
		if err != nil {
			return err
		}
		o := bootstrap.NamespaceOptions{Name: name, Version: step.Version, Adopt: c.Bool("adopt"),
			Force: c.Bool("force-conflicts"), Data: c.Bool("data"),
			Wait: c.Duration("wait"), Timeout: c.Duration("timeout")}
		if err := step.Exit(contract.ExitUsage, o.Validate()); err != nil {
			return err
		}
		hub, err := hubOf(c, s)
		if err != nil {
			return err
		}
		return do(hub, c.Context, o)
	}
}

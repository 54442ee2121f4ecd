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
	timeout := &cli.DurationFlag{Name: "timeout", Value: 5 * time.Minute, Usage: "how long objects may take to work, or to be gone"}
	return &cli.Command{
		Name:  "namespace",
		Usage: "let a team's namespace of runs come and go, on a cluster where bflow is installed",
		Subcommands: []*cli.Command{{
			Name:      "add",
			Usage:     "make a namespace one of runs, or renew what makes it one",
			ArgsUsage: "NAME",
			Description: "Makes the namespace where it is missing, and in it the accounts, rights, queues and ConfigMap that bootstrap makes in others. " +
				"The rest of the installation stays as it is.",
			Flags: kubeFlags(
				&cli.BoolFlag{Name: "adopt", Usage: "take over what others have made there under names of ours"},
				&cli.BoolFlag{Name: "force-conflicts", Usage: "take fields that others own"},
				timeout),
			Action: onNamespace(s, (*bootstrap.Hub).AddNamespace),
		}, {
			Name:      "remove",
			Usage:     "drain a namespace of runs and take away what makes it one",
			ArgsUsage: "NAME",
			Description: "Refuses while runs are queued or running there, or waits for them with --wait. The namespace is deleted where bootstrap made it " +
				"and nothing else is in it; objects of others stay, and so do results of runs unless --data is given.",
			Flags: kubeFlags(
				&cli.DurationFlag{Name: "wait", Usage: "how long to wait for runs that are queued or running there (default: not at all)"},
				&cli.BoolFlag{Name: "data", Usage: "delete results of runs as well"},
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
		o := bootstrap.NamespaceOptions{Name: name, Version: step.Version, Adopt: c.Bool("adopt"), Force: c.Bool("force-conflicts"), Data: c.Bool("data"),
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

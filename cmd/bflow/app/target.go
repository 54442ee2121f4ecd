package app

import (
	"net"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/bootstrap"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

func targetCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:        "target",
		Usage:       "clusters where model servers run, beside the hub itself",
		Description: "A target needs neither Tekton nor Kueue, and the hub keeps no credential of yours: it has an account of its own there.",
		Subcommands: []*cli.Command{targetAddCommand(s), targetListCommand(s), targetRemoveCommand(s)},
	}
}

// targetFlags say which cluster is the target, and which one the hub.
func targetFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "kubeconfig", Usage: "file with the way to the target, for an administrator of it; kept nowhere"},
		&cli.StringFlag{Name: "context", Usage: "context of the target in that file (default: its current one)"},
		&cli.StringSliceFlag{Name: "host-alias", Usage: "HOST=IP of the target's API server, where no name server of the hub knows it; repeatable (default: as before)"},
		&cli.StringFlag{Name: "hub-kubeconfig", Usage: "file with the way to the hub (default: $KUBECONFIG, then ~/.kube/config, then the account of the pod)"},
		&cli.StringFlag{Name: "hub-context", Usage: "context of the hub in its kubeconfig (default: its current one)"},
	}, more...)
}

func targetAddCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "add",
		Usage:     "make a cluster a target of the hub, or renew what makes it one",
		ArgsUsage: "NAME",
		Description: "Makes namespaces, accounts and rights on the target, and a queue for it on the hub. A second call changes only what is to change; " +
			"it also renews a token that has expired.",
		Flags: targetFlags(
			&cli.StringSliceFlag{Name: "label", Usage: "KEY=VALUE by which runs may choose targets; repeatable (default: as before)"},
			&cli.StringSliceFlag{Name: "node-selector", Usage: "KEY=VALUE of the nodes that are the target, where it is a part of a cluster; repeatable or by commas (default: as before, at first all)"},
			&cli.StringSliceFlag{Name: "load-node-selector", Usage: "KEY=VALUE of the nodes for the tasks of runs there, which need no GPU; repeatable or by commas (default: as before, at first any)"},
			&cli.StringSliceFlag{Name: "namespace", Aliases: []string{"n"}, Usage: "of the hub, where runs may use the target; repeatable or by commas (default: as before, at first all)"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print as a diff what both servers would change, and change nothing"},
			&cli.DurationFlag{Name: "wait", Value: time.Minute, Usage: "how long the controller of the hub may take to reach it"},
		),
		Action: func(c *cli.Context) error { return addTarget(c, s) },
	}
}

func addTarget(c *cli.Context, s Streams) error {
	name, err := oneTarget(c)
	if err != nil {
		return err
	}
	o := bootstrap.TargetOptions{Name: name, Kubeconfig: c.String("kubeconfig"), Context: c.String("context"), Version: step.Version, Wait: c.Duration("wait")}
	if o.Aliases, err = hostAliases(c); err != nil {
		return err
	}
	if o.Labels, err = pairs(c, "label"); err != nil {
		return err
	}
	if o.Nodes, err = pairs(c, "node-selector"); err != nil {
		return err
	}
	if o.LoadNodes, err = pairs(c, "load-node-selector"); err != nil {
		return err
	}
	for _, n := range c.StringSlice("namespace") {
		o.Namespaces = append(o.Namespaces, strings.Split(n, ",")...)
	}
	if err := step.Exit(contract.ExitUsage, o.Validate()); err != nil {
		return err
	}
	hub, err := hubOfTarget(c, s)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return hub.AddTarget(c.Context, o, s.Out)
	}
	return hub.AddTarget(c.Context, o, nil)
}

func targetRemoveCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "remove",
		Usage:     "drain a target and take away what makes it one, there and on the hub",
		ArgsUsage: "NAME",
		Description: "From the first moment on nothing starts there. Runs that are there are waited for with --wait, and are a refusal without; " +
			"bflow target add with the same name lets the queue go on.",
		Flags: targetFlags(
			&cli.BoolFlag{Name: "force", Usage: "though runs are there, or the target is not: what is there stays there"},
			&cli.DurationFlag{Name: "wait", Usage: "how long to wait for the runs that are there (default: not at all)"},
			&cli.DurationFlag{Name: "timeout", Value: 5 * time.Minute, Usage: "how long what is deleted may take to be gone"},
		),
		Action: func(c *cli.Context) error {
			name, err := oneTarget(c)
			if err != nil {
				return err
			}
			aliases, err := hostAliases(c)
			if err != nil {
				return err
			}
			hub, err := hubOfTarget(c, s)
			if err != nil {
				return err
			}
			return hub.RemoveTarget(c.Context, bootstrap.RemoveOptions{Name: name, Kubeconfig: c.String("kubeconfig"), Context: c.String("context"), Aliases: aliases,
				Version: step.Version, Force: c.Bool("force"), Wait: c.Duration("wait"), Timeout: c.Duration("timeout")})
		},
	}
}

func oneTarget(c *cli.Context) (string, error) {
	if c.NArg() != 1 {
		return "", step.Usagef("reading arguments of \"target %s\": want the name of one target", c.Command.Name)
	}
	return c.Args().First(), nil
}

// hubOfTarget is the hub of commands whose --kubeconfig is the target's.
func hubOfTarget(c *cli.Context, s Streams) (*bootstrap.Hub, error) {
	cfg, _, err := readKubeconfig(c.String("hub-kubeconfig"), c.String("hub-context"), "--hub-kubeconfig")
	if err != nil {
		return nil, err
	}
	return bootstrap.Connect(cfg, s.Err)
}

// hostAliases are nil where none are given.
func hostAliases(c *cli.Context) (map[string]string, error) {
	all, err := pairs(c, "host-alias")
	for host, address := range all {
		if net.ParseIP(address) == nil {
			return nil, step.Usagef("reading flag --host-alias: %q: want HOST=IP", host+"="+address)
		}
	}
	return all, err
}

// pairs reads a flag of KEY=VALUE, repeatable or by commas; nil where it is not given.
func pairs(c *cli.Context, flag string) (map[string]string, error) {
	var all map[string]string
	for _, text := range c.StringSlice(flag) {
		for _, pair := range strings.Split(text, ",") {
			key, value, ok := strings.Cut(pair, "=")
			if !ok || key == "" {
				return nil, step.Usagef("reading flag --%s: %q: want KEY=VALUE", flag, pair)
			}
			if all == nil {
				all = map[string]string{}
			}
			all[key] = value
		}
	}
	return all, nil
}

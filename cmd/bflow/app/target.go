package app

import (
	"net"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/bootstrap"
	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

func targetCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:  "target",
		Usage: "manage targets: clusters other than the hub where model servers run",
		Description: "A target needs neither Tekton nor Kueue. The hub does not store your credentials: it uses a " +
			"service account of its own there.",
		Subcommands: []*cli.Command{targetAddCommand(s), targetListCommand(s), targetRemoveCommand(s)},
	}
}

// targetFlags say which cluster is the target, and which one the hub.
func targetFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{
			Name: "kubeconfig", Usage: "path to a kubeconfig with administrator rights on the target; not stored",
		},
		&cli.StringFlag{Name: "context", Usage: "context of the target in that kubeconfig (default: its current context)"},
		&cli.StringSliceFlag{
			Name: "host-alias", Usage: "HOST=IP of the target's API server, if the hub's DNS does not resolve it; " +
				"repeatable (default: unchanged)",
		},
		&cli.StringFlag{
			Name: "hub-kubeconfig", Usage: "path to the kubeconfig of the hub (default: $KUBECONFIG, then " +
				"~/.kube/config, then the pod's service account)",
		},
		&cli.StringFlag{Name: "hub-context", Usage: "context of the hub in its kubeconfig (default: its current context)"},
	}, more...)
}

func targetAddCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "add",
		Usage:     "register a cluster as a target of the hub, or update its registration",
		ArgsUsage: "NAME",
		Description: "Creates namespaces, service accounts and RBAC on the target, and a queue for it on the hub. " +
			"Running it again applies only changes; " +
			"it also renews an expired token.",
		Flags: targetFlags(
			&cli.StringSliceFlag{
				Name:  "label",
				Usage: "KEY=VALUE: label by which runs can select the target; repeatable (default: unchanged)",
			},
			&cli.StringSliceFlag{
				Name: "node-selector", Usage: "KEY=VALUE: label of the nodes that belong to the target, if it is " +
					"part of a cluster; repeatable or comma-separated (default: unchanged, initially all nodes)",
			},
			&cli.StringSliceFlag{
				Name: "load-node-selector", Usage: "KEY=VALUE: label of the nodes for task pods, which need no GPU; " +
					"repeatable or comma-separated (default: unchanged, initially any node)",
			},
			&cli.StringSliceFlag{
				Name: "namespace", Aliases: []string{"n"}, Usage: "namespace of the hub whose runs may use the " +
					"target; repeatable or comma-separated (default: unchanged, initially all)",
			},
			&cli.BoolFlag{Name: "dry-run", Usage: "print the changes on hub and target as a diff without applying them"},
			&cli.DurationFlag{
				Name: "wait", Value: time.Minute,
				Usage: "how long to wait until bflow-controller has reached the target",
			},
		),
		Action: func(c *cli.Context) error { return addTarget(c, s) },
	}
}

func addTarget(c *cli.Context, s Streams) error {
	name, err := oneTarget(c)
	if err != nil {
		return err
	}
	o := bootstrap.TargetOptions{
		Name: name, Kubeconfig: c.String("kubeconfig"), Context: c.String("context"), Version: step.Version,
		Wait: c.Duration("wait"),
	}
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
		Usage:     "drain a target and remove its setup from the target and from the hub",
		ArgsUsage: "NAME",
		Description: "Stops admitting runs to the target at once. Fails if runs are still there, unless --wait is given; " +
			"run bflow target add with the same name to resume its queue.",
		Flags: targetFlags(
			&cli.BoolFlag{
				Name:  "force",
				Usage: "remove the target even if it has runs or cannot be reached; whatever is on it stays there",
			},
			&cli.DurationFlag{Name: "wait", Usage: "how long to wait for the runs on the target (default: do not wait)"},
			&cli.DurationFlag{Name: "timeout", Value: 5 * time.Minute, Usage: "how long to wait until deleted objects are gone"},
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
			return hub.RemoveTarget(c.Context, bootstrap.RemoveOptions{Name: name, Kubeconfig: c.String("kubeconfig"),
				Context: c.String("context"), Aliases: aliases,
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
	cfg, _, err := kube.Source{File: c.String("hub-kubeconfig"), Context: c.String("hub-context"),
		Flag: "--hub-kubeconfig"}.Read()
	if err != nil {
		return nil, err
	}
	api, err := kube.New(cfg, "")
	if err != nil {
		return nil, err
	}
	api.Advice.Unreachable = "check the network, and that this is the right hub (--hub-context, --hub-kubeconfig)"
	return bootstrap.New(api, s.Err)
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

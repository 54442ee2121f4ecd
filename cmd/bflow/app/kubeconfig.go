package app

import (
	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/internal/kube"
)

// kubeFlags say which cluster a command speaks to. Without them it is the one kubectl would speak to.
func kubeFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{
			Name:  "kubeconfig",
			Usage: "path to the kubeconfig (default: $KUBECONFIG, then ~/.kube/config, then the pod's service account)",
		},
		&cli.StringFlag{Name: "context", Usage: "context of the kubeconfig (default: its current context)"},
	}, more...)
}

// source is the kubeconfig that the flags name.
func source(c *cli.Context) kube.Source {
	return kube.Source{File: c.String("kubeconfig"), Context: c.String("context"), Flag: "--kubeconfig"}
}

// kubeConfig is the way to the cluster that the flags name.
func kubeConfig(c *cli.Context) (*kube.Config, error) {
	cfg, _, err := source(c).Read()
	return cfg, err
}

// podFlags are the flags of podAccess.
func podFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "kubeconfig", Usage: "path to the kubeconfig (default: the token in --token-dir, then " +
			"$KUBECONFIG, then ~/.kube/config, then the pod's service account)"},
		&cli.StringFlag{Name: "token-dir",
			Usage: "folder of the Secret with the token of a service account that may submit runs"},
	}
}

// podAccess returns how a command that runs in a pod connects to its cluster: with the kubeconfig that a flag names,
// else with the token of a mounted Secret, else with what kubeConfig finds.
func podAccess(c *cli.Context) (*kube.Config, error) {
	if c.String("kubeconfig") == "" {
		if cfg, err := kube.InPod(c.String("token-dir")); err == nil {
			return cfg, nil
		}
	}
	return kubeConfig(c)
}

package app

import (
	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/runs/kube"
)

// kubeFlags say which cluster a command speaks to. Without them it is the one kubectl would speak to.
func kubeFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "kubeconfig", Usage: "path to the kubeconfig (default: $KUBECONFIG, then ~/.kube/config, then the pod's service account)"},
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

// podAccess is the way to the cluster of a command that runs in a pod: the token of a mounted Secret where there is
// one, else what kubeConfig finds.
func podAccess(c *cli.Context) (*kube.Config, error) {
	if cfg, err := kube.InPod(c.String("token-dir")); err == nil {
		return cfg, nil
	}
	return kubeConfig(c)
}

package app

import (
	"fmt"

	"github.com/go-logr/logr"
	"github.com/urfave/cli/v2"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/tasks/step"
)

// kubeFlags say which cluster a command speaks to. Without them it is the one kubectl would speak to.
func kubeFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "kubeconfig", Usage: "path to the kubeconfig (default: $KUBECONFIG, then ~/.kube/config, then the pod's service account)"},
		&cli.StringFlag{Name: "context", Usage: "context of the kubeconfig (default: its current context)"},
	}, more...)
}

// kubeConfig reads the kubeconfig that the flags name. The second result is the namespace of its context.
func kubeConfig(c *cli.Context) (*rest.Config, string, error) {
	return readKubeconfig(c.String("kubeconfig"), c.String("context"), "--kubeconfig")
}

// readKubeconfig reads a file, where one is named by flag, else what kubectl would read.
func readKubeconfig(file, context, flag string) (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
	cfg, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, "", step.Usagef("reading the kubeconfig: there is none; name one with %s or KUBECONFIG", flag)
	}
	if err != nil {
		return nil, "", step.Usagef("reading the kubeconfig: %v; name one with %s or KUBECONFIG", err, flag)
	}
	if credential.Text(cfg.Host) != cfg.Host {
		return nil, "", step.Usagef("reading the kubeconfig: the server's address contains a credential, which would be printed; use a user with a token instead")
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("reading the namespace of the kubeconfig: %w", err)
	}
	cfg.UserAgent = "bflow/" + step.Version
	silence()
	return cfg, namespace, nil
}

// silence keeps client-go from logging what it returns as well.
func silence() { klog.SetLogger(logr.Discard()) }

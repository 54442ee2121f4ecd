package kube

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"

	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/tasks/step"
)

// Config is the way to a cluster.
type Config = rest.Config

// Source says where the way to a cluster is written down.
type Source struct {
	File    string // kubeconfig; "" = the one kubectl would read
	Context string // in it; "" = its current one
	Flag    string // that names the file, for errors
}

func (s Source) rules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.File
	return rules
}

func (s Source) loader() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(s.rules(),
		&clientcmd.ConfigOverrides{CurrentContext: s.Context})
}

// Read reads the kubeconfig, or takes the account of the pod. The second result is the namespace of the context.
func (s Source) Read() (*Config, string, error) {
	cfg, err := s.Config()
	if clientcmd.IsEmptyConfig(err) {
		return nil, "", step.Usagef("reading the kubeconfig: there is none; name one with %s or KUBECONFIG", s.Flag)
	}
	if err != nil {
		return nil, "", step.Usagef("reading the kubeconfig: %w; name one with %s or KUBECONFIG", err, s.Flag)
	}
	if credential.Text(cfg.Host) != cfg.Host {
		return nil, "", step.Usagef("reading the kubeconfig: the server's address contains a credential, which " +
			"would be printed; use a user with a token instead")
	}
	namespace, _, err := s.loader().Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("reading the namespace of the kubeconfig: %w", err)
	}
	return cfg, namespace, nil
}

// Config is the way that Read takes, whatever it looks like.
func (s Source) Config() (*Config, error) {
	cfg, err := s.loader().ClientConfig()
	if err != nil {
		return nil, err
	}
	cfg.UserAgent = userAgent()
	silence()
	return cfg, nil
}

// Endpoint is what the kubeconfig says of the cluster of the context, with the files that it names read in, and the
// name of the context.
func (s Source) Endpoint() (endpoint clientcmdapi.Cluster, context string, err error) {
	raw, err := s.rules().Load()
	if err != nil {
		return endpoint, "", err
	}
	if s.Context != "" {
		raw.CurrentContext = s.Context
	}
	context = raw.CurrentContext
	if raw.Contexts[context] == nil {
		return endpoint, context, fmt.Errorf("%q has no context %q; it has %s, choose with --context", s.File, context,
			strings.Join(s.Contexts(), ", "))
	}
	if err := errors.Join(clientcmdapi.MinifyConfig(raw), clientcmdapi.FlattenConfig(raw)); err != nil {
		return endpoint, context, err
	}
	if to := raw.Clusters[raw.Contexts[context].Cluster]; to != nil {
		endpoint = *to
	}
	return endpoint, context, nil
}

// ContextName is the name of the context, "" in a pod.
func (s Source) ContextName() string {
	if s.Context != "" {
		return s.Context
	}
	if config, err := s.rules().Load(); err == nil {
		return config.CurrentContext
	}
	return ""
}

// Contexts are the names of all contexts of the kubeconfig.
func (s Source) Contexts() (names []string) {
	config, err := s.rules().Load()
	if err != nil {
		return nil
	}
	for name := range config.Contexts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// IsKnown reports whether anything says which cluster is meant. Most laptops know none, and then no verb should speak
// of clusters.
func (s Source) IsKnown() bool {
	if s.File != "" || s.Context != "" || os.Getenv("KUBECONFIG") != "" {
		return true
	}
	if home, err := os.UserHomeDir(); err == nil {
		if _, err := os.Stat(filepath.Join(home, ".kube", "config")); err == nil {
			return true
		}
	}
	_, err := os.Stat("/var/run/secrets/kubernetes.io/serviceaccount/token")
	return err == nil && os.Getenv("KUBERNETES_SERVICE_HOST") != ""
}

// ErrNoToken is a folder that holds no token, or one that is looked at outside of a pod.
var ErrNoToken = errors.New("there is no token for the cluster of this pod")

// InPod is the way to the cluster that this pod runs in, with the token of a mounted Secret.
func InPod(tokenDir string) (*Config, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	token := filepath.Join(tokenDir, "token")
	if _, err := os.Stat(token); tokenDir == "" || err != nil || host == "" {
		return nil, ErrNoToken
	}
	silence()
	return &Config{Host: "https://" + net.JoinHostPort(host, port), BearerTokenFile: token, UserAgent: userAgent(),
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(tokenDir, "ca.crt")}}, nil
}

func userAgent() string { return "bflow/" + step.Version }

// silence keeps client-go from logging what it returns as well.
func silence() { klog.SetLogger(logr.Discard()) }

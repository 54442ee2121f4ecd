package target

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/bootstrap/apply"
	queuetarget "bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const requestTimeout = 15 * time.Second

// Cluster is a target, or a cluster that is to become one.
type Cluster struct {
	Context string // of the kubeconfig
	Server  string

	cfg      *rest.Config
	endpoint clientcmdapi.Cluster
	aliases  map[string]string
	objects  *apply.Cluster
	tokens   dynamic.Interface
}

// Open reads a context, "" for the current one, from a person's kubeconfig. Hosts in aliases need no DNS. Addresses
// that contain credentials are refused, because runs get a copy of them. It opens no connection yet.
func Open(file, name string, aliases map[string]string) (*Cluster, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: file}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: name})
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the target: %w", err)
	}
	if name == "" {
		name = raw.CurrentContext
	}
	if raw.Contexts[name] == nil {
		return nil, fmt.Errorf("reading the kubeconfig of the target: %q has no context %q; it has %s, choose with --context",
			file, name, strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", "))
	}
	raw.CurrentContext = name
	if err := errors.Join(clientcmdapi.MinifyConfig(&raw), clientcmdapi.FlattenConfig(&raw)); err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the target: %w", err)
	}
	c := &Cluster{Context: name, aliases: aliases}
	if to := raw.Clusters[raw.Contexts[name].Cluster]; to != nil {
		c.endpoint = *to
	}
	if _, _, err := c.Kubeconfig(); err != nil {
		return nil, fmt.Errorf("context %q: %w", name, err)
	}
	cfg, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the target: context %q: %w", name, err)
	}
	c.Server, c.cfg = cfg.Host, rest.CopyConfig(cfg)
	return c, c.connect()
}

// connect creates the clients, which connect to the address of an alias.
func (c *Cluster) connect() error {
	server, err := url.Parse(c.cfg.Host)
	if err != nil {
		return fmt.Errorf("reading the address of the target: %w", err)
	}
	if address, ok := c.aliases[server.Hostname()]; ok {
		if c.cfg.ServerName == "" {
			c.cfg.ServerName = server.Hostname()
		}
		server.Host = net.JoinHostPort(address, port(server))
		c.cfg.Host = server.String()
	}
	c.cfg.Timeout = requestTimeout
	if c.objects, err = apply.Connect(c.cfg); err != nil {
		return err
	}
	c.objects = c.objects.As(manager)
	c.tokens, err = dynamic.NewForConfig(c.cfg)
	return err
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "http" {
		return "80"
	}
	return "443"
}

// Kubeconfig returns the kubeconfig that the hub keeps, without credentials, and the certificate authority of the
// target.
func (c *Cluster) Kubeconfig() (kubeconfig, ca []byte, err error) {
	kubeconfig, err = queuetarget.NewKubeconfig(c.endpoint, c.aliases)
	return kubeconfig, c.endpoint.CertificateAuthorityData, err
}

// Found is what a cluster is.
type Found struct {
	UID     string // of its kube-system
	Version string
	Hubs    map[string]string // identity of a hub that uses it -> its name there
	Nodes   bool              // nodes may be listed
}

// Look reads what the cluster is. Its errors say what to do.
func (c *Cluster) Look(ctx context.Context) (Found, error) {
	found := Found{Hubs: map[string]string{}}
	asked, err := discovery.NewDiscoveryClientForConfig(c.cfg)
	if err != nil {
		return found, err
	}
	version, err := asked.ServerVersion()
	if err != nil {
		return found, c.explain("asking the target for its version", err)
	}
	found.Version = version.GitVersion
	system, err := c.objects.Get(ctx, apply.Ref{Kind: "Namespace", Name: metav1.NamespaceSystem})
	if err != nil {
		return found, c.explain("reading the identity of the target", err)
	}
	if system == nil {
		return found, fmt.Errorf("reading the identity of the target: it has no namespace %q; check that context %q is a Kubernetes cluster", metav1.NamespaceSystem, c.Context)
	}
	found.UID = string(system.GetUID())
	ours, err := c.objects.Get(ctx, apply.Ref{Kind: "Namespace", Name: contract.NamespaceSystem})
	if err != nil {
		return found, c.explain("looking for bflow on the target", err)
	}
	if ours != nil {
		found.Hubs = hubsOf(ours)
	}
	return found, nil
}

// Token requests a token of the hub's account.
func (c *Cluster) Token(ctx context.Context, life time.Duration) (string, time.Time, error) {
	request := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"spec": map[string]any{"expirationSeconds": int64(life.Seconds())}}}
	request.SetName(contract.AccountAgent)
	made, err := c.tokens.Resource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}).
		Namespace(contract.NamespaceSystem).Create(ctx, request, metav1.CreateOptions{}, "token")
	if err != nil {
		return "", time.Time{}, c.explain("making a token for the hub", err)
	}
	text, _, _ := unstructured.NestedString(made.Object, "status", "token")
	ends, _, _ := unstructured.NestedString(made.Object, "status", "expirationTimestamp")
	expires, err := time.Parse(time.RFC3339, ends)
	if err != nil || text == "" {
		return "", time.Time{}, fmt.Errorf("making a token for the hub: the target's answer contains none")
	}
	return text, expires, nil
}

// explain adds to an error of the target what to do about it.
func (c *Cluster) explain(act string, err error) error {
	var network net.Error
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s: it does not accept the credentials of context %q; log in again, or choose another --context", act, c.Context)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return fmt.Errorf("%s: %w; try again once it is gone", act, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: %w; use the kubeconfig of an administrator of that cluster", act, err)
	case errors.As(err, &network):
		return fmt.Errorf("%s: context %q: %w; check that --context is right; if the host does not resolve, use --host-alias NAME=IP", act, c.Context, err)
	case meta.IsNoMatchError(err):
		return fmt.Errorf("%s: %w; check that context %q is a Kubernetes cluster", act, err, c.Context)
	}
	return fmt.Errorf("%s: %w", act, err)
}

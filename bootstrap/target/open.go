package target

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/internal/kube"
	queuetarget "bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const requestTimeout = 15 * time.Second

// Cluster is a target, or a cluster that is to become one.
type Cluster struct {
	Context string // of the kubeconfig
	Server  string

	endpoint clientcmdapi.Cluster
	aliases  map[string]string
	api      *kube.Client
	objects  *apply.Cluster
}

// Open reads a context, "" for the current one, from a person's kubeconfig. Hosts in aliases need no DNS. Addresses
// that contain credentials are refused, because runs get a copy of them. It opens no connection yet.
func Open(file, name string, aliases map[string]string) (*Cluster, error) {
	source := kube.Source{File: file, Context: name}
	endpoint, name, err := source.Endpoint()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the target: %w", err)
	}
	c := &Cluster{Context: name, endpoint: endpoint, aliases: aliases}
	if _, _, err := c.Kubeconfig(); err != nil {
		return nil, fmt.Errorf("context %q: %w", name, err)
	}
	cfg, err := source.Config()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the target: context %q: %w", name, err)
	}
	c.Server = cfg.Host
	return c, c.connect(cfg)
}

// connect creates the clients, which connect to the address of an alias.
func (c *Cluster) connect(cfg *kube.Config) error {
	server, err := url.Parse(cfg.Host)
	if err != nil {
		return fmt.Errorf("reading the address of the target: %w", err)
	}
	if address, ok := c.aliases[server.Hostname()]; ok {
		if cfg.ServerName == "" {
			cfg.ServerName = server.Hostname()
		}
		server.Host = net.JoinHostPort(address, port(server))
		cfg.Host = server.String()
	}
	cfg.Timeout = requestTimeout
	if c.api, err = kube.New(cfg, c.Context); err != nil {
		return err
	}
	c.api.Advice = kube.Advice{
		Forbidden:    "use the kubeconfig of an administrator of that cluster",
		Unauthorized: "log in again, or choose another --context",
		Unreachable:  "check that --context is right; if the host does not resolve, use --host-alias NAME=IP",
	}
	if c.objects, err = apply.New(c.api); err != nil {
		return err
	}
	c.objects = c.objects.As(manager)
	return nil
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
	version, err := c.api.Version(ctx)
	if err != nil {
		return found, c.explain("asking the target for its version", err)
	}
	found.Version = version.GitVersion
	system, err := c.objects.Get(ctx, apply.Ref{Kind: "Namespace", Name: metav1.NamespaceSystem})
	if err != nil {
		return found, c.explain("reading the identity of the target", err)
	}
	if system == nil {
		return found,
			fmt.Errorf(
				"reading the identity of the target: it has no namespace %q; check that context %q is a Kubernetes cluster",
				metav1.NamespaceSystem, c.Context)
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
	at := kube.Core("serviceaccounts", contract.NamespaceSystem, contract.AccountAgent)
	at.Sub = "token"
	request := authenticationv1.TokenRequest{
		TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenRequest"},
		Spec:     authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(life.Seconds()))},
	}
	if err := c.api.Create(ctx, at, request, &request, kube.Write{}); err != nil {
		return "", time.Time{}, c.explain("making a token for the hub", err)
	}
	made := request.Status
	if made.ExpirationTimestamp.IsZero() || made.Token == "" {
		return "", time.Time{}, fmt.Errorf("making a token for the hub: the target's answer contains none")
	}
	return made.Token, made.ExpirationTimestamp.Time, nil
}

// explain adds to an error of the target what was done, and what to do where a kind that every cluster has is missing.
func (c *Cluster) explain(act string, err error) error {
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("%s: %w; check that context %q is a Kubernetes cluster", act, err, c.Context)
	}
	return fmt.Errorf("%s: %w", act, err)
}

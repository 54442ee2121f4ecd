package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// AgentTokenLifetime is how long a token of contract.AccountAgent is to live: a hub that is down over a weekend comes
// back to its targets. An API server may give less.
const AgentTokenLifetime = 72 * time.Hour

// Credentials are the address of a target and the right to use it: the content of its Secret in the hub. They hold no
// credential of a person.
type Credentials struct {
	Target     string
	Kubeconfig []byte // server, certificate authority and where the token lies
	CA         []byte // empty where the system's authorities, or nobody, are asked
	Token      string // of contract.AccountAgent
	Expires    time.Time
	Renew      time.Time         // when another token is asked for
	UID        string            // of the target's kube-system
	Aliases    map[string]string // hosts by name, as a person gave them
	Hub        string            // identity of the hub
	Nodes      string            // a=b,c=d: labels of the nodes that are the target; "" for all
	LoadNodes  string            // a=b,c=d: node selector of the Jobs of tasks there; "" for none
}

// Secret is how they lie in the hub.
func (c Credentials) Secret() (*corev1.Secret, error) {
	s := &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Name: contract.TargetCredentials(c.Target), Namespace: contract.NamespaceSystem,
			Labels: map[string]string{
				contract.LabelTarget: c.Target, contract.LabelManagedBy: contract.ManagedBy, contract.LabelHub: c.Hub,
			},
			Annotations: map[string]string{contract.AnnotationTargetUID: c.UID},
		},
		Data: map[string][]byte{contract.KeyKubeconfig: c.Kubeconfig, contract.KeyCA: c.CA},
	}
	for key, nodes := range map[string]string{contract.AnnotationNodes: c.Nodes,
		contract.AnnotationLoadNodes: c.LoadNodes} {
		if nodes != "" {
			s.Annotations[key] = nodes
		}
	}
	if len(c.Aliases) > 0 {
		text, err := json.Marshal(c.Aliases)
		if err != nil {
			return nil, err
		}
		s.Annotations[contract.AnnotationHostAliases] = string(text)
	}
	StampToken(s, c.Token, c.Expires, c.Renew)
	return s, nil
}

// StampToken puts a token into the Secret.
func StampToken(s *corev1.Secret, token string, expires, renew time.Time) {
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	s.Data[contract.KeyToken] = []byte(token)
	s.Annotations[contract.AnnotationTokenExpires] = expires.UTC().Format(time.RFC3339)
	s.Annotations[contract.AnnotationTokenRenew] = renew.UTC().Format(time.RFC3339)
}

// HalfLife is when half of a lifetime is over that begins now.
func HalfLife(now, expires time.Time) time.Time { return now.Add(expires.Sub(now) / 2) }

// ReadCredentials reads a Secret back. Times that cannot be read are zero: renewed at once.
func ReadCredentials(s *corev1.Secret) (Credentials, error) {
	c := Credentials{
		Target: s.Labels[contract.LabelTarget], Kubeconfig: s.Data[contract.KeyKubeconfig], CA: s.Data[contract.KeyCA],
		Token: string(s.Data[contract.KeyToken]),
		UID:   s.Annotations[contract.AnnotationTargetUID], Hub: s.Labels[contract.LabelHub],
		Nodes:     s.Annotations[contract.AnnotationNodes],
		LoadNodes: s.Annotations[contract.AnnotationLoadNodes],
	}
	c.Expires, _ = time.Parse(time.RFC3339, s.Annotations[contract.AnnotationTokenExpires])
	c.Renew, _ = time.Parse(time.RFC3339, s.Annotations[contract.AnnotationTokenRenew])
	if text := s.Annotations[contract.AnnotationHostAliases]; text != "" {
		if err := json.Unmarshal([]byte(text), &c.Aliases); err != nil {
			return c, fmt.Errorf("reading Secret %q: annotation %s: %w", s.Name, contract.AnnotationHostAliases, err)
		}
	}
	var missing []error
	for key, empty := range map[string]bool{"label " + contract.LabelTarget: c.Target == "",
		"key " + contract.KeyKubeconfig: len(c.Kubeconfig) == 0, "key " + contract.KeyToken: c.Token == ""} {
		if empty {
			missing = append(missing,
				fmt.Errorf("reading Secret %q: it has no %s; bflow target add with the same name recreates it", s.Name, key))
		}
	}
	return c, errors.Join(missing...)
}

// Config leads to the target without any credential: whoever uses it puts the token into its requests.
func (c Credentials) Config() (*rest.Config, error) {
	loaded, err := clientcmd.Load(c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of target %q: %w", c.Target, err)
	}
	at := loaded.Contexts[loaded.CurrentContext]
	if at == nil || loaded.Clusters[at.Cluster] == nil {
		return nil, fmt.Errorf("reading the kubeconfig of target %q: it names no cluster", c.Target)
	}
	cluster := loaded.Clusters[at.Cluster]
	if err := refuseCredentials(*cluster); err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of target %q: %w", c.Target, err)
	}
	cfg := &rest.Config{Host: cluster.Server, TLSClientConfig: rest.TLSClientConfig{ServerName: cluster.TLSServerName,
		Insecure: cluster.InsecureSkipTLSVerify}}
	if !cluster.InsecureSkipTLSVerify {
		cfg.CAData = c.CA
	}
	if cluster.ProxyURL != "" {
		proxy, err := url.Parse(cluster.ProxyURL)
		if err != nil {
			return nil, fmt.Errorf("reading the kubeconfig of target %q: proxy-url: %w", c.Target, err)
		}
		cfg.Proxy = http.ProxyURL(proxy)
	}
	return cfg, nil
}

// refuseCredentials refuses addresses with a user or a parameter that holds a secret: the kubeconfig is copied beside
// every run on the target, where whoever may create pods can read it.
func refuseCredentials(cluster clientcmdapi.Cluster) error {
	for _, field := range []struct{ name, address string }{{"server", cluster.Server}, {"proxy-url", cluster.ProxyURL}} {
		if credential.InURL(field.address) {
			return fmt.Errorf(
				"%s %s holds a credential, and every run on the target gets a copy; name an address that needs none",
				field.name, credential.URL(field.address))
		}
	}
	return nil
}

// NewKubeconfig makes the kubeconfig for a cluster: no user of it is kept, and what it held as data lies in files
// beside it. A host that aliases has is called by its address, and answers by its name. Addresses that hold
// credentials are refused.
func NewKubeconfig(cluster clientcmdapi.Cluster, aliases map[string]string) ([]byte, error) {
	if err := refuseCredentials(cluster); err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	server, err := url.Parse(cluster.Server)
	if err != nil || server.Host == "" {
		return nil, fmt.Errorf("reading the address of the cluster: %q is not a URL", cluster.Server)
	}
	to := clientcmdapi.Cluster{TLSServerName: cluster.TLSServerName, InsecureSkipTLSVerify: cluster.InsecureSkipTLSVerify,
		ProxyURL: cluster.ProxyURL, DisableCompression: cluster.DisableCompression}
	if address, ok := aliases[server.Hostname()]; ok {
		if to.TLSServerName == "" {
			to.TLSServerName = server.Hostname()
		}
		server.Host = hostPort(address, server.Port())
	}
	to.Server = server.String()
	if len(cluster.CertificateAuthorityData) > 0 && !cluster.InsecureSkipTLSVerify {
		to.CertificateAuthority = contract.KeyCA
	}
	const name = "target"
	text, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: &to},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {TokenFile: contract.KeyToken}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return text, nil
}

func hostPort(address, port string) string {
	if port == "" {
		if net.ParseIP(address).To4() == nil {
			return "[" + address + "]"
		}
		return address
	}
	return net.JoinHostPort(address, port)
}

package component

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/runplan/contract"
)

const (
	keyServers = "prometheus"

	// thanos asks the Prometheus servers of an OpenShift. Its certificate is of the authority that pods there know.
	thanos = "https://thanos-querier.openshift-monitoring.svc.cluster.local:9091"

	// maxCA bounds the file of an authority.
	maxCA = 16 << 20
)

// Servers lists for the controller which Prometheus servers get a token when a run asks them.
type Servers struct{}

// Definition names it and its flag.
func (*Servers) Definition() Definition {
	return Definition{Name: "Prometheus servers", Flags: []Flag{{
		Name: "prometheus", Key: keyServers, Kind: Texts, Parse: parseServers,
		Usage: "URL[,ca=FILE][,audience=NAME] of a Prometheus that runs may query with a token from " +
			"bflow-controller; repeatable (default: Thanos on OpenShift)",
	}}}
}

// parseServers reads URL[,ca=FILE][,audience=NAME].
func parseServers(given []string) (any, error) {
	var all []contract.PrometheusServer
	for _, text := range given {
		server, err := parseServer(text)
		if err != nil {
			return nil, err
		}
		all = append(all, server)
	}
	return all, nil
}

func parseServer(text string) (contract.PrometheusServer, error) {
	address, more, _ := strings.Cut(text, ",")
	server := contract.PrometheusServer{URL: address}
	for _, pair := range strings.FieldsFunc(more, func(r rune) bool { return r == ',' }) {
		key, value, _ := strings.Cut(pair, "=")
		switch {
		case key == "audience" && value != "":
			server.Audience = value
		case key == "ca" && value != "":
			ca, err := bounded.ReadFile(value, maxCA)
			if err != nil {
				return server, fmt.Errorf("reading flag --prometheus: %w", err)
			}
			server.CA = string(ca)
		default:
			return server, fmt.Errorf("reading flag --prometheus: %q: want ca=FILE or audience=NAME", pair)
		}
	}
	return server, checkServer(server)
}

// checkServer refuses an address at which a token could be read on its way, and an authority that is none.
func checkServer(s contract.PrometheusServer) error {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery+u.Fragment != "" {
		return fmt.Errorf("address %q of a Prometheus server: want https://HOST[:PORT][/PATH], because a token is sent to it",
			credential.URL(s.URL))
	}
	if s.CA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(s.CA)) {
		return fmt.Errorf("CA of Prometheus server %s: it contains no certificate; want PEM", s.URL)
	}
	return nil
}

// Detect reads nothing.
func (*Servers) Detect(context.Context, detect.Cluster, detect.API) error { return nil }

// Render writes the list. On OpenShift it has Thanos where nobody names others.
func (*Servers) Render(s Site) (Output, error) {
	var servers []contract.PrometheusServer
	if s.Cluster.Platform.IsOpenShift() {
		servers = []contract.PrometheusServer{{URL: thanos}}
	}
	if err := s.Settings.Read(keyServers, &servers); err != nil || len(servers) == 0 {
		return Output{}, err
	}
	text, err := json.MarshalIndent(servers, "", "  ")
	if err != nil {
		return Output{}, fmt.Errorf("writing the list of Prometheus servers: %w", err)
	}
	list := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": contract.ConfigMapPrometheus, "namespace": contract.NamespaceSystem},
		"data":     map[string]any{contract.PrometheusKey: string(text)},
	}}
	return Output{Piece: objects.Piece{Objects: []*unstructured.Unstructured{list}}}, nil
}

package collect

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/outbound"
)

const (
	// serviceAccount is where a pod finds the certificate authorities of its cluster, and a token of its account.
	serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"
	// EnvPrometheusTokenFile names a file with a bearer token for Prometheus, of the person who runs bflow.
	EnvPrometheusTokenFile = "BFLOW_PROMETHEUS_TOKEN_FILE"
)

// maxAnswer bounds what one query may return.
const maxAnswer = 64 << 20

// prometheus asks one server.
type prometheus struct {
	base   string
	token  string
	step   time.Duration
	client *http.Client

	without string // why no token is sent, for a server that wants one
}

// folders are where credentials lie.
type folders struct {
	metrics string // what the controller has made for this run, "" for nothing
	pod     string // of the account of the pod
}

// newPrometheus takes the token of at.metrics, which the controller made for this very server because an administrator
// has listed it, else that of the file which the environment names. The token of the pod goes nowhere: an experiment
// names the address.
func newPrometheus(m *runplan.Metrics, at folders, env func(string) string) *prometheus {
	p := &prometheus{base: strings.TrimRight(m.PrometheusURL, "/"), step: m.QueryStep.D()}
	if p.step <= 0 {
		p.step = 15 * time.Second
	}
	verify, roots := m.VerifyTLS, authorities(at.pod)
	p.without = "no token was sent, because no administrator has listed this address: bflow bootstrap --prometheus " +
		p.base
	if p.entrusted(at.metrics) {
		verify = true
		roots.AppendCertsFromPEM(content(at.metrics, contract.KeyCA))
	} else if token := content("", env(EnvPrometheusTokenFile)); len(token) > 0 {
		p.without = "the token was not sent, because that takes https and verify_tls: true in the MetricsProfile"
		if verify && strings.HasPrefix(p.base, "https://") {
			p.token = string(token)
		}
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{RootCAs: roots, InsecureSkipVerify: !verify}} //nolint:gosec // the plan says so
	p.client = outbound.Stay(&http.Client{Timeout: m.QueryTimeout.D(), Transport: transport})
	return p
}

// entrusted takes the token of a folder where it is for this server.
func (p *prometheus) entrusted(dir string) bool {
	if dir == "" || strings.TrimRight(string(content(dir, contract.KeyURL)), "/") != p.base ||
		!strings.HasPrefix(p.base, "https://") {
		return false
	}
	p.token = string(content(dir, contract.KeyToken))
	return p.token != ""
}

// authorities are those of the image and, from the folder of the pod's account, those of the API server and of the
// services of OpenShift, Thanos among them.
func authorities(pod string) *x509.CertPool {
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	for _, name := range []string{contract.KeyCA, "service-ca.crt"} {
		roots.AppendCertsFromPEM(content(pod, name))
	}
	return roots
}

// content is that of a file, without blanks around it; nothing where it cannot be read.
func content(dir, name string) []byte {
	if name == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil
	}
	return bytes.TrimSpace(text)
}

// queryRange asks for query between start and end. Values that are no numbers are left out.
func (p *prometheus) queryRange(ctx context.Context, query string, start, end time.Time) ([]assemble.Series, error) {
	form := url.Values{
		"query": {query}, "start": {unixSeconds(start)}, "end": {unixSeconds(end)},
		"step": {strconv.FormatFloat(p.step.Seconds(), 'f', -1, 64)},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, outbound.Below(p.base, "/api/v1/query_range"),
		strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("asking Prometheus: %w", outbound.WithoutAddress(err))
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if p.token != "" && req.URL.User == nil { // an address with credentials of its own does without
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		if credential.InURL(p.base) {
			err = outbound.WithoutAddress(err)
		}
		return nil, fmt.Errorf("asking Prometheus: %w", err)
	}
	defer resp.Body.Close()
	body, err := bounded.ReadAll(resp.Body, maxAnswer)
	if err != nil {
		return nil, fmt.Errorf("asking Prometheus: %w", err)
	}
	if p.token == "" && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden) {
		return nil, fmt.Errorf("asking Prometheus: %s: %s", resp.Status, p.without)
	}
	return decodeMatrix(resp.Status, resp.StatusCode, body)
}

func unixSeconds(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64)
}

func decodeMatrix(status string, code int, body []byte) ([]assemble.Series, error) {
	var answer struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Data   struct {
			Type   string `json:"resultType"`
			Result []struct {
				Metric map[string]string    `json:"metric"`
				Values [][2]json.RawMessage `json:"values"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf(
			"asking Prometheus: %s and no JSON in its answer: is this the URL of a Prometheus server?", status)
	}
	switch {
	case answer.Error != "":
		return nil, fmt.Errorf("asking Prometheus: %s: %s", status, answer.Error)
	case code != http.StatusOK || answer.Status != "success":
		return nil, fmt.Errorf("asking Prometheus: %s", status)
	case answer.Data.Type != "matrix":
		return nil, fmt.Errorf("asking Prometheus: the result is a %q, not a matrix", answer.Data.Type)
	}
	out := []assemble.Series{}
	for _, r := range answer.Data.Result {
		s := assemble.Series{Labels: r.Metric, Points: [][2]float64{}}
		for _, v := range r.Values {
			if point, ok := decodePoint(v); ok {
				s.Points = append(s.Points, point)
			}
		}
		out = append(out, s)
	}
	return out, nil
}

func decodePoint(v [2]json.RawMessage) ([2]float64, bool) {
	var at float64
	var text string
	if json.Unmarshal(v[0], &at) != nil || json.Unmarshal(v[1], &text) != nil {
		return [2]float64{}, false
	}
	value, err := strconv.ParseFloat(text, 64)
	return [2]float64{at, value}, err == nil && !math.IsNaN(value) && !math.IsInf(value, 0)
}

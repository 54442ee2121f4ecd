package collect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/tasks/outbound"
	"bflow.dev/bflow/tasks/report/assemble"
	"bflow.dev/bflow/tasks/runplan"
)

// Files that a pod finds its own identity in.
const (
	serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"
	// EnvPrometheusTokenFile names a file with a bearer token for Prometheus, instead of that of the pod.
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

	withheld bool // there is a token, which this server does not get
}

// newPrometheus reads the token from the file that the environment names, else from that of the pod. It is sent to a server
// alone whose certificate was checked: an experiment names the address, and without the check anybody could answer there.
func newPrometheus(m *runplan.Metrics, env func(string) string) *prometheus {
	p := &prometheus{base: strings.TrimRight(m.PrometheusURL, "/"), step: m.QueryStep.D()}
	if p.step <= 0 {
		p.step = 15 * time.Second
	}
	file := env(EnvPrometheusTokenFile)
	if file == "" {
		file = serviceAccount + "token"
	}
	if token, err := os.ReadFile(file); err == nil {
		p.withheld = !m.VerifyTLS || !strings.HasPrefix(p.base, "https://")
		if !p.withheld {
			p.token = strings.TrimSpace(string(token))
		}
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	for _, file := range []string{"ca.crt", "service-ca.crt"} { // the second signs the services of OpenShift, Thanos among them
		if ca, err := os.ReadFile(serviceAccount + file); err == nil {
			roots.AppendCertsFromPEM(ca)
		}
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{RootCAs: roots, InsecureSkipVerify: !m.VerifyTLS}} //nolint:gosec // the plan says so
	p.client = outbound.Stay(&http.Client{Timeout: m.QueryTimeout.D(), Transport: transport})
	return p
}

// queryRange asks for query between start and end. Values that are no numbers are left out.
func (p *prometheus) queryRange(ctx context.Context, query string, start, end time.Time) ([]assemble.Series, error) {
	form := url.Values{"query": {query}, "start": {unixSeconds(start)}, "end": {unixSeconds(end)}, "step": {strconv.FormatFloat(p.step.Seconds(), 'f', -1, 64)}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/api/v1/query_range", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("asking Prometheus: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking Prometheus: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("asking Prometheus: %w", err)
	}
	if p.withheld && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden) {
		return nil, fmt.Errorf("asking Prometheus: %s: the token was not sent, because that takes https and verify_tls: true in the MetricsProfile", resp.Status)
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
		return nil, fmt.Errorf("asking Prometheus: %s and no JSON in its answer: is this the URL of a Prometheus server?", status)
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

package loadgen

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"time"

	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/tasks/outbound"
	"bflow.dev/bflow/tasks/tlsclient"
)

// scrapeTimeout bounds one reading of the engine's metrics.
const scrapeTimeout = 5 * time.Second

// scrape writes the engine's metrics to scrapes/<sample>-<stage>-<when>.prom. A failure is noted and nothing more.
func (m *measurement) scrape(ctx context.Context, sample, stage int, when string) {
	s := report.Scrape{Sample: sample, Stage: stage, When: when, UnixNS: time.Now().UnixNano()}
	text, err := m.probes.metrics(ctx)
	if err == nil {
		s.File = path.Join("scrapes", fmt.Sprintf("%d-%d-%s.prom", sample, stage, when))
		err = durable.Replace(m.file(s.File), text)
	}
	if err != nil {
		s.File, s.Error = "", err.Error()
	}
	m.summary.Scrapes = append(m.summary.Scrapes, s)
}

// prober sends the requests outside the load, over connections of its own.
type prober struct {
	m      *measurement
	client *http.Client // nil until it is needed
}

func (p *prober) metrics(ctx context.Context) ([]byte, error) {
	where, err := p.metricsURL()
	if err != nil {
		return nil, err
	}
	defer p.hangUp()
	status, text, err := p.ask(ctx, http.MethodGet, where, nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("reading %q: HTTP %d", where, status)
	}
	return []byte(p.m.api.Scrub(string(text))), err
}

func (p *prober) metricsURL() (string, error) {
	engine := p.m.whole.Deployment.Engine
	if engine.MetricsPath == "" {
		return "", fmt.Errorf("the plan names no metrics path of the engine")
	}
	u, err := url.Parse(p.m.base())
	if err != nil {
		return "", fmt.Errorf("reading endpoint: %w", err)
	}
	if engine.MetricsPort > 0 && engine.MetricsPort != engine.Port {
		u.Host = net.JoinHostPort(u.Hostname(), strconv.Itoa(engine.MetricsPort))
	}
	u.Path = path.Join("/", u.Path, engine.MetricsPath)
	return u.String(), nil
}

// base is the base URL of the server as net/http wants it.
func (m *measurement) base() string {
	if m.server.TLS != nil {
		return "https://" + m.server.Host + m.server.Path
	}
	return "http://" + m.server.Host + m.server.Path
}

// connect returns a client whose connections go where those of the load go.
func (p *prober) connect() (*http.Client, error) {
	m := p.m
	proxy, _ := m.proxy() // it was read when the line was made
	t := &http.Transport{IdleConnTimeout: scrapeTimeout, Proxy: http.ProxyURL(proxy)}
	if m.server.Network == "unix" {
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", m.server.Address)
		}
	}
	secure, err := tlsclient.Secure(t, m.plan.API)
	if err != nil {
		return nil, err
	}
	return outbound.Stay(&http.Client{Transport: secure}), nil
}

// hangUp closes the connections of what was asked outside the load: none of them is open during it.
func (p *prober) hangUp() {
	if p.client != nil {
		p.client.CloseIdleConnections()
	}
}

// maxAnswer bounds what is read of an answer outside the load: the largest pages of metrics have a few MiB.
const maxAnswer = 16 << 20

// ask sends one request and returns its status and answer.
func (p *prober) ask(ctx context.Context, method, where string, body io.Reader) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, where, body)
	if err != nil {
		return 0, nil, fmt.Errorf("asking %q: %w", where, err)
	}
	headers := maps.Clone(p.m.api.Headers())
	delete(headers, "Accept")
	if headers["Host"] == p.m.server.Host { // nobody has set it, and metrics may have a port of their own
		delete(headers, "Host")
	}
	outbound.SetHeaders(req, headers)
	if p.client == nil {
		if p.client, err = p.connect(); err != nil {
			return 0, nil, err
		}
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("asking the server: %w", err)
	}
	defer resp.Body.Close()
	text, err := bounded.ReadAll(resp.Body, maxAnswer)
	if err != nil {
		return 0, nil, fmt.Errorf("reading the answer of %q: %w", where, err)
	}
	return resp.StatusCode, text, nil
}

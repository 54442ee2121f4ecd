package overlays_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/queue/metrics"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// busy serves the metrics of a controller that has seen everything once. Counters grow, so that rates are not empty.
func busy(t *testing.T) *httptest.Server {
	t.Helper()
	registry := prometheus.NewRegistry()
	m, err := metrics.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	scrapes := 0
	registry.MustRegister(metrics.NewRunsCollector(func() (map[string]int, error) {
		scrapes++ // a run that is releasing comes and goes: one alert needs it, another needs it gone
		return map[string]int{metrics.StateQueued: 3, metrics.StateReleasing: scrapes / 4 % 2}, nil
	}))
	for state, n := range map[string]float64{metrics.GPUTotal: 8, metrics.GPUOurs: 4, metrics.GPUForeign: 2,
		metrics.GPULeaked: 1} {
		m.GPUs.WithLabelValues("local", "nvidia.com/gpu", state).Set(n)
	}
	m.TargetReachable.WithLabelValues("local").Set(0)
	m.TargetDirty.WithLabelValues("local").Set(1)
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.QueueWait.WithLabelValues("local").Observe(30)
		m.Admission.WithLabelValues("local").Observe(0.5)
		m.GPUSeconds.WithLabelValues("local", "nvidia.com/gpu", metrics.HoursMeasuring).Add(20)
		m.Release.WithLabelValues("local").Observe(5)
		m.Forced.WithLabelValues("local").Inc()
		m.Leftovers.WithLabelValues("local", "Pod").Inc()
		m.Attempts.WithLabelValues("evicted").Inc()
		m.Unstartable.Inc()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// startPrometheus runs a real Prometheus that scrapes target every second and evaluates the shipped rules.
func startPrometheus(t *testing.T, target string) string {
	t.Helper()
	binary := program(t, "prometheus")
	dir := t.TempDir()
	rules, _ := shippedRules(t)
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [rules.yaml]\n"+
		"scrape_configs: [{job_name: bflow, static_configs: [{targets: [%q]}]}]\n", strings.TrimPrefix(target, "http://"))
	for name, text := range map[string][]byte{"rules.yaml": rules, "prometheus.yaml": []byte(config)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	var log bytes.Buffer
	cmd := exec.Command(binary, "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return "http://" + address
}

// ask returns how many series a query gives.
func ask(server, query string) (int, error) {
	answer, err := http.Get(server + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	var body struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		return 0, err
	}
	if body.Status != "success" {
		return 0, fmt.Errorf("%s", body.Error)
	}
	return len(body.Data.Result), nil
}

// TestARealPrometheusAnswersEveryQuery: every panel has data, every recording rule records, and every alert except the
// one for an absent controller has reason to fire.
func TestARealPrometheusAnswersEveryQuery(t *testing.T) {
	server := startPrometheus(t, busy(t).URL)
	queries := map[string]string{}
	for _, p := range shippedPanels(t) {
		queries["panel "+p.title+": "+p.expr] = p.expr
	}
	_, all := shippedRules(t)
	for _, r := range all {
		queries["rule "+r.Record+r.Alert] = r.Expr
		if r.Record != "" {
			queries["recorded "+r.Record] = r.Record
		}
	}
	silent := queries["rule BflowControllerAbsent"]
	delete(queries, "rule BflowControllerAbsent")
	eventually.Nil(t, "an answer to every query", func() error {
		var silent []error
		for name, query := range queries {
			switch n, err := ask(server, query); {
			case err != nil:
				silent = append(silent, fmt.Errorf("%s: %w", name, err))
			case n == 0:
				silent = append(silent, fmt.Errorf("%s gives no series", name))
			default:
				delete(queries, name)
			}
		}
		return errors.Join(silent...)
	})
	if n, err := ask(server, silent); err != nil || n != 0 {
		t.Errorf("an absent controller is seen though it is there: %d, %v", n, err)
	}
}

package overlays_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/bootstrap/overlays"
	"bflow.dev/bflow/queue/metrics"

	"sigs.k8s.io/yaml"
)

// rule is an alert or a recording rule.
type rule struct {
	Record string `json:"record,omitempty"`
	Alert  string `json:"alert,omitempty"`
	Expr   string `json:"expr"`
}

type groups struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

// shippedRules returns the spec of the PrometheusRule, which is a rule file of Prometheus as YAML.
func shippedRules(t *testing.T) ([]byte, []rule) {
	t.Helper()
	text, err := overlays.FS.ReadFile("components/prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var o struct {
		Spec json.RawMessage `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	file, err := yaml.JSONToYAML(o.Spec)
	if err != nil {
		t.Fatal(err)
	}
	var g groups
	if err := yaml.Unmarshal(file, &g); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, group := range g.Groups {
		all = append(all, group.Rules...)
	}
	return file, all
}

// panel is a query of the dashboard, with values for its variables.
type panel struct{ title, expr string }

func shippedPanels(t *testing.T) []panel {
	t.Helper()
	text, err := overlays.FS.ReadFile("components/dashboard/bflow.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$target", ".*", "$resource", ".*")
	var all []panel
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			all = append(all, panel{p.Title, variables.Replace(target.Expr)})
		}
	}
	return all
}

// names returns the metrics of the controller, from the list that its code is written against.
func names() []string {
	return []string{
		metrics.Runs, metrics.QueueWaitSeconds, metrics.ReleaseSeconds, metrics.ForcedReleases, metrics.Leftovers,
		metrics.Attempts,
		metrics.Unstartable, metrics.GPUs, metrics.GPUSeconds, metrics.AdmissionSeconds, metrics.TargetReachable,
		metrics.TargetDirty,
	}
}

func TestQueriesAskForWhatTheControllerServes(t *testing.T) {
	_, all := shippedRules(t)
	known := names()
	for _, r := range all {
		if r.Record != "" {
			known = append(known, r.Record)
		}
	}
	name := regexp.MustCompile(`\bbflow[_:][a-z_:]+`)
	check := func(where, expr string) {
		for _, word := range name.FindAllString(expr, -1) {
			base := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(word, "")
			if !slices.Contains(known, word) && !slices.Contains(known, base) {
				t.Errorf("%s asks for %s, which nobody serves", where, word)
			}
		}
		if !name.MatchString(expr) {
			t.Errorf("%s asks for nothing of bflow: %s", where, expr)
		}
	}
	for _, r := range all {
		check(r.Record+r.Alert, r.Expr)
	}
	for _, p := range shippedPanels(t) {
		check("panel "+p.title, p.expr)
	}
}

// TestPrometheusReadsEveryQuery checks rules and panels with promtool, which has the parser of Prometheus.
func TestPrometheusReadsEveryQuery(t *testing.T) {
	promtool := program(t, "promtool")
	file, _ := shippedRules(t)
	var panels groups
	panels.Groups = append(panels.Groups, struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	}{Name: "panels"})
	for i, p := range shippedPanels(t) {
		panels.Groups[0].Rules = append(panels.Groups[0].Rules, rule{Record: fmt.Sprintf("panel:%d", i), Expr: p.expr})
	}
	second, err := yaml.Marshal(panels)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"rules.yaml": file, "panels.yaml": second} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(promtool, "check", "rules", path).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// program finds a program of Debian package prometheus. Without it the test is skipped, or fails if CI demands it.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("BFLOW_REQUIRE_PROMETHEUS") == "" {
		t.Skipf("%s is not installed: apt-get install prometheus", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

package examples

import (
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/profiles"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/runplan"
)

func load(t *testing.T, files ...string) *spec.Set {
	t.Helper()
	set, problems := spec.Load(spec.Options{Shipped: profiles.FS, CheckAll: true}, files...)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	for _, w := range problems.Warnings() {
		t.Errorf("a warning: %v", w)
	}
	return set
}

// plansOf plans every experiment of a file.
func plansOf(t *testing.T, file string) []*runplan.RunPlan {
	t.Helper()
	set := load(t, file)
	var out []*runplan.RunPlan
	for _, exp := range set.Experiments {
		plans, problems := plan.Plan(exp, set.Catalogue, plan.Options{})
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		out = append(out, plans...)
	}
	return out
}

// points is how many runs each example has.
var points = map[string]int{
	"benchflow-guidellm": 2, "demo": 2, "existing-endpoint": 1, "matrix-gpu": 4, "multi-turn": 2, "shared-prefix": 2,
	"search": 1, "slo-gate": 1, "sweep": 3, "trace": 1, "vllm-single": 1,
}

func TestEveryExampleLoadsWithoutAWarningAndPlans(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(points) {
		t.Errorf("%d examples, %d of them in this test", len(files), len(points))
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".yaml")
		t.Run(name, func(t *testing.T) {
			if got := len(plansOf(t, file)); got != points[name] {
				t.Errorf("%d points, want %d", got, points[name])
			}
		})
	}
}

func TestEveryShippedProfilePlans(t *testing.T) {
	for _, p := range load(t).Catalogue.Profiles() {
		t.Run(p.Kind+" "+p.Name, func(t *testing.T) {
			set, problems := spec.LoadBytes(spec.Options{Shipped: profiles.FS}, "experiment.yaml", []byte(experimentWith(p)))
			if err := problems.Err(); err != nil {
				t.Fatal(err)
			}
			plans, problems := plan.Plan(set.Experiments[0], set.Catalogue, plan.Options{})
			if err := problems.Err(); err != nil {
				t.Fatal(err)
			}
			if m := plans[0].Measurements[0]; m.Runner != "native" || len(m.Stages) == 0 {
				t.Errorf("runner %q with %d stages, want the native one with some", m.Runner, len(m.Stages))
			}
		})
	}
}

// experimentWith is the smallest experiment that uses p.
func experimentWith(p spec.ProfileRef) string {
	names := map[string]string{spec.KindDeployment: "sim", spec.KindBenchmark: "sanity", spec.KindMetrics: "default"}
	names[p.Kind] = p.Name
	target := ""
	if p.Name == "existing-endpoint" {
		target = "\n  target: {base_url: \"http://127.0.0.1:8000\"}"
	}
	return "apiVersion: benchflow.io/v1alpha1\nkind: Experiment\nmetadata: {name: x}\nspec:\n  model: " +
		"{name: acme/tiny}\n" +
		"  deployment_profile: " + names[spec.KindDeployment] + "\n  benchmark_profile: " + names[spec.KindBenchmark] +
		"\n  metrics_profile: " + names[spec.KindMetrics] + target + "\n"
}

func TestTheDemoMeasuresEnoughRequestsForItsP99InAboutAMinute(t *testing.T) {
	var seconds float64
	for _, p := range plansOf(t, "demo.yaml") {
		for _, s := range p.Measurements[0].Stages {
			seconds += s.Duration.Seconds()
			if n := s.Rate * s.Duration.Seconds(); s.Measure && n < 1100 {
				t.Errorf("stage %s sends about %.0f requests, want 1100 or more", s.Name, n)
			}
		}
	}
	if seconds > 55 {
		t.Errorf("the stages last %.0f s, want at most 55", seconds)
	}
}

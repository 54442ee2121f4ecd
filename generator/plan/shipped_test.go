package plan

import (
	"fmt"
	"strings"
	"testing"

	"bflow.dev/bflow/generator/profiles"
	"bflow.dev/bflow/generator/spec"
)

// TestShippedProfilesPlanTogether plans every shipped deployment with every shipped load and metrics profile.
func TestShippedProfilesPlanTogether(t *testing.T) {
	opt := spec.Options{Shipped: profiles.FS, CheckAll: true}
	none, _ := spec.LoadBytes(opt, "none.yaml", nil)
	names := map[string][]string{}
	for _, p := range none.Catalogue.Profiles() {
		if p.Name != "existing-endpoint" { // needs target.base_url: see the golden files
			names[p.Kind] = append(names[p.Kind], p.Name)
		}
	}
	text := fmt.Sprintf(`
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: everything}
spec:
  model: {name: acme/tiny-1b}
  deployment_profile: [%s]
  benchmark_profile: [%s]
  metrics_profile: [%s]
`, strings.Join(names[spec.KindDeployment], ", "), strings.Join(names[spec.KindBenchmark], ", "), strings.Join(names[spec.KindMetrics], ", "))
	set, problems := spec.LoadBytes(opt, "everything.yaml", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	plans, problems := Plan(set.Experiments[0], set.Catalogue, Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if want := len(names[spec.KindDeployment]) * len(names[spec.KindBenchmark]) * len(names[spec.KindMetrics]); len(
		plans) != want || want < 100 {
		t.Errorf("%d plans of %d", len(plans), want)
	}
}

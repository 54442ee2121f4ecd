package compile

import (
	"testing"

	"bflow.dev/bflow/runplan"

	"github.com/google/go-cmp/cmp"
)

func TestWhichTargetsARunMayGoTo(t *testing.T) {
	if got := choice(MakePlan(t, func(*runplan.RunPlan) {})); got != nil {
		t.Errorf("a run with one target says %v", got)
	}
	several := func(p *runplan.RunPlan) {
		p.Target.Name, p.Target.AnyOf, p.Target.Selector = "any", []string{"b", "a"},
			map[string]string{"region": "eu", "gpu": "h100"}
		p.Queue.Name = "any"
	}
	plan := MakePlan(t, several)
	key := cacheKey(plan)
	want := map[string]string{"bflow.dev/targets": "b,a", "bflow.dev/target-selector": "gpu=h100,region=eu",
		"bflow.dev/cache-key": key}
	if diff := cmp.Diff(want, choice(plan)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	same := MakePlan(t, several, func(p *runplan.RunPlan) { p.Deployment.Engine.Args = []string{"--x"} })
	other := MakePlan(t, several, func(p *runplan.RunPlan) { p.Deployment.Model.Name = "another" })
	if cacheKey(same) != key || cacheKey(other) == key {
		t.Errorf("keys %s, %s and %s", key, cacheKey(same), cacheKey(other))
	}
}

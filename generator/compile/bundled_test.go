package compile

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/pipelines/bundle/content"
	"bflow.dev/bflow/runplan"
)

// usual gives a plan the time of finally that every experiment gets unless it says otherwise.
func usual(p *runplan.RunPlan) {
	p.Timeouts.Finally, p.Timeouts.Pipeline = minutes(17), p.Timeouts.Tasks+minutes(17)
}

func TestRunsOfACommonShapeFindTheirPipelineInTheBundle(t *testing.T) {
	ref := "reg.example/bflow/tasks@sha256:" + strings.Repeat("5", 64)
	rows := []struct {
		name    string
		plan    func(*runplan.RunPlan)
		bundled bool
	}{
		{"one measurement", usual, true},
		{"three measurements with a key for the last", func(p *runplan.RunPlan) { usual(p); severalMeasurements(p) }, false},
		{"another time for finally", func(p *runplan.RunPlan) {
			usual(p)
			p.Timeouts.Finally -= minutes(1)
		}, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			o, err := Compile(MakePlan(t, row.plan), Options{Version: "v0.1.0", Bundle: ref})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := Write(&out, one(MakePlan(t, row.plan)), Options{Version: "v0.1.0", Bundle: ref}); err != nil {
				t.Fatal(err)
			}
			b, err := pipelines.Parse(&out)
			if err != nil {
				t.Fatal(err)
			}
			if o.Bundled != row.bundled || (len(b.Pipelines) == 0) != row.bundled {
				t.Errorf("in the bundle: %v, want %v; %d Pipelines are written", o.Bundled, row.bundled, len(b.Pipelines))
			}
			if resolver := string(o.PipelineRun.Spec.PipelineRef.Resolver); (resolver == "bundles") != row.bundled {
				t.Errorf("the run finds its Pipeline by %q", resolver)
			}
			if row.bundled && o.Pipeline.Name != content.PipelineName("v0.1.0", content.Shapes()[0]) {
				t.Errorf("it is called %s", o.Pipeline.Name)
			}
		})
	}
}

// TestMostGoldenPlansAreOfACommonShape keeps the bundle's Pipelines in step with what the planner makes.
func TestMostGoldenPlansAreOfACommonShape(t *testing.T) {
	files, err := filepath.Glob("../plan/testdata/*.output.json")
	if err != nil {
		t.Fatal(err)
	}
	all, common := 0, 0
	for _, file := range files {
		for plan, err := range planFile(t, file) {
			if err != nil {
				t.Fatal(err)
			}
			all++
			if content.Has(shapeOf(plan)) {
				common++
			}
		}
	}
	if common*2 < all {
		t.Errorf("a bundle has the Pipeline of %d plans of %d", common, all)
	}
	t.Logf("a bundle has the Pipeline of %d plans of %d", common, all)
}

package compile

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/pipelines/check"
	"bflow.dev/bflow/runplan"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata")

// cases are named like their files: NAME.plan.json compiles to NAME.yaml.
var cases = []struct {
	name    string
	plan    func(*runplan.RunPlan)
	options Options
}{
	{name: "sim-single", plan: func(*runplan.RunPlan) {}},
	{name: "endpoint", plan: existingEndpoint, options: Options{ImagePrefix: "reg.example/bflow/"}},
	{name: "several-measurements", plan: severalMeasurements, options: Options{ResultsClaim: "results"}},
	{name: "openshift", plan: remoteTarget, options: Options{Platform: OpenShift}},
	{name: "bundle", plan: pinnedImages, options: Options{
		Bundle: "reg.example/bflow/tasks@sha256:" + strings.Repeat("5", 64)}},
	{name: "bundled", plan: usual, options: Options{Bundle: "reg.example/bflow/tasks@sha256:" + strings.Repeat("5", 64)}},
	{name: "load-nodes", plan: func(*runplan.RunPlan) {},
		options: Options{LoadCPU: "500m", NodeSelector: map[string]string{"pool": "load"}}},
	{name: "secrets", plan: withSecrets},
	{name: "no-queue", plan: keptDeployment, options: Options{NoQueue: true}},
}

func existingEndpoint(p *runplan.RunPlan) {
	p.Deployment.Endpoint = &runplan.Endpoint{BaseURL: "https://llm.example"}
	p.Execution.Phases = runplan.Phases{Benchmark: true}
	p.Measurements[0].API.APIKeySecret = &runplan.SecretKey{Name: "llm-example", Key: "token"}
	p.Labels = map[string]string{"team": "search", "answer": "42"}
}

func severalMeasurements(p *runplan.RunPlan) {
	p.Measurements = append(p.Measurements, MakeMeasurement("rag"), MakeMeasurement("code"))
	p.Measurements[2].API.APIKeySecret = &runplan.SecretKey{Name: "code-key", Key: "api-key"}
	p.Timeouts.Task["load-gen-1"], p.Timeouts.Task["load-gen-2"] = minutes(3), minutes(3)
}

func remoteTarget(p *runplan.RunPlan) {
	p.Target = runplan.Target{Name: "lab-a", Namespace: "perf", ServiceAccount: "runner", KubeconfigSecret: "lab-a",
		HostAliases: map[string]string{"b.lab.example": "192.0.2.10", "a.lab.example": "192.0.2.10",
			"c.lab.example": "192.0.2.9"}}
	p.Queue = runplan.Queue{Name: "lab-a", Priority: "nightly", Isolation: "exclusive", SetupKey: "llm-d-v0.5",
		Requests: map[string]string{"bflow.dev/gpu-h200": "4", "bflow.dev/cluster-slot": "100"}}
}

func pinnedImages(p *runplan.RunPlan) {
	p.Images = map[string]string{"load-gen": "reg.example/bflow/load-gen@sha256:" + strings.Repeat("7", 64)}
}

func withSecrets(p *runplan.RunPlan) {
	p.Deployment.Env = map[string]string{"HF_TOKEN": runplan.SecretKey{Name: "hub", Key: "token"}.Reference()}
	p.Measurements[0].API.Headers = map[string]string{"apikey": runplan.SecretKey{Name: "llm", Key: "key"}.Reference(),
		"X-Client": runplan.SecretKey{Name: "llm", Key: "client"}.Reference()}
}

func keptDeployment(p *runplan.RunPlan) {
	p.Execution.Phases = runplan.Phases{Deploy: true}
	p.Execution.KeepFor = minutes(240)
	p.Queue.Requests = nil
}

func one(p *runplan.RunPlan) Plans {
	return func(yield func(*runplan.RunPlan, error) bool) { yield(p, nil) }
}

func TestPlansCompileToTheirGoldenFiles(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.options.Version = "v0.1.0"
			plan := MakePlan(t, c.plan)
			var out bytes.Buffer
			if err := Write(&out, one(plan), c.options); err != nil {
				t.Fatal(err)
			}
			text, err := runplan.Marshal(plan)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, c.name+".plan.json", append(text, '\n'))
			golden(t, c.name+".yaml", out.Bytes())
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got), run with -update if that is meant:\n%s", path, diff)
	}
}

// TestClustersTakeWhatIsCompiled runs every golden case through the offline checker.
func TestClustersTakeWhatIsCompiled(t *testing.T) {
	checker, err := check.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Write(&out, one(MakePlan(t, c.plan)), c.options); err != nil {
				t.Fatal(err)
			}
			b, err := pipelines.Parse(&out)
			if err != nil {
				t.Fatal(err)
			}
			if c.options.Bundle != "" {
				addBundle(t, &b)
			}
			if err := checker.Bundle(b); err != nil {
				t.Error(err)
			}
		})
	}
}

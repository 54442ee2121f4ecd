//go:build e2e

package cluster

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
)

// hungry is a load whose second stage takes more memory than its load generator gets.
const hungry = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: hungry}
spec:
  namespace: benchflow
  model: {name: demo/tiny}
  deployment_profile: sim
  overrides: {runtime: {resources: {limits: {nvidia.com/gpu: "1"}}}}
  load:
    data: {input: 100000, output: 4}
    stages:
      - {name: small, concurrency: 1, requests: 2}
      - {name: big, concurrency: 64, duration: 30s}
`

// TestALoadGeneratorThatMemoryRunsOutForIsReported lets the kernel kill a load generator in its second stage: the
// report holds the first stage and says what happened then, and nothing of the run is left.
func TestALoadGeneratorThatMemoryRunsOutForIsReported(t *testing.T) {
	l := newLab(t)
	file := l.write("hungry.yaml", hungry)
	stream := l.must("compile", file, "--lock", os.Getenv("BFLOW_E2E_LOCK"), "--load-cpu", "200m")
	head, specs, found := strings.Cut(stream, "\n  taskRunSpecs:")
	less := strings.NewReplacer("memory: '4Gi'", "memory: '48Mi'", "memory: '512Mi'", "memory: '32Mi'")
	if small := less.Replace(specs); !found || small == specs {
		t.Fatalf("load-gen is given no memory in\n%s", specs)
	}
	run := l.create(head + "\n  taskRunSpecs:" + less.Replace(specs))
	l.of(run).waitForEnd(20 * time.Minute)
	dir := filepath.Join(t.TempDir(), run)
	l.must("fetch", run, "--out", dir)
	v, err := report.ReadVerdict(dir)
	if err != nil {
		t.Fatal(err)
	}
	// Progress is written once a second: a stage younger than that is not known.
	const where = `(in stage "big" after|after stage "small"; send)`
	says := regexp.MustCompile(`load-gen was killed: out of memory \(limit 48Mi\) ` + where)
	if v.ExitCode != contract.ExitFail || !says.MatchString(strings.Join(v.Reasons, "\n")) {
		t.Errorf("exit code %d, %q, want %d and %s", v.ExitCode, v.Reasons, contract.ExitFail, says)
	}
	stages, err := report.ReadStages(filepath.Join(report.MeasurementDir(dir, 0), contract.FileStages))
	if err != nil || len(stages) != 1 || stages[0].Planned.Name != "small" {
		t.Errorf("%d stages, %v, want the first", len(stages), err)
	}
	l.of(run).nothingLeft(beforeForce)
}

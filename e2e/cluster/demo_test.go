//go:build e2e

package cluster

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
)

// small is an experiment that runs the same here and there.
const small = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: small}
spec:
  namespace: benchflow
  model: {name: demo/tiny}
  deployment_profile: sim
  stages: {collect: false}
  load:
    data: {input: 32, output: 8}
    stages: [{name: warm, measure: false, rate: 20, duration: 1s}, {rate: [20, 40], duration: 3s}]
`

// comparison is what must be equal of a run on this host and of one on a cluster.
type comparison struct {
	Hash   string
	Stages []stage
}

type stage struct {
	Name string
	All  int
}

// TestTheSameRunHereAndOnACluster compares plan hash, stages and request counts.
func TestTheSameRunHereAndOnACluster(t *testing.T) {
	l := newLab(t)
	file := l.write("small.yaml", small)
	l.must("run", "--local", "--plain", file)
	here, err := filepath.Glob(filepath.Join(l.runs, "small-*", contract.FileReport))
	if err != nil || len(here) != 1 {
		t.Fatal(here, err)
	}
	want := read(t, here[0])

	run := l.submit(file, "--follow")[0]
	out := filepath.Join(l.dir, "there")
	l.must("fetch", run, "--out", out)
	if diff := cmp.Diff(want, read(t, filepath.Join(out, contract.FileReport))); diff != "" {
		t.Errorf("the run on the cluster differs (-here +there):\n%s", diff)
	}
	l.must("report", run, "--out", filepath.Join(l.dir, "report.html"))
	if page, err := os.ReadFile(filepath.Join(l.dir, "report.html")); err != nil || len(page) < 10_000 {
		t.Errorf("the page of the run has %d bytes: %v", len(page), err)
	}
	l.of(run).nothingLeft(beforeForce)
}

func read(t *testing.T, path string) (s comparison) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	s.Hash = r.Plan.Hash
	for _, m := range r.Measurements {
		for _, st := range m.Pooled.Stages {
			s.Stages = append(s.Stages, stage{st.Planned.Name, st.Counts.All})
		}
	}
	return s
}

// Package reporttest writes run directories in the layout of load-gen, from seeded synthetic requests, for the tests
// of readers of such directories. It contains no rules of its own that a test could rely on by accident: files are
// written by the writers of load-gen.
package reporttest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// Run describes a directory to be written. The zero value is a healthy run of one sample.
type Run struct {
	ID        string
	Rates     []float64     // requests per second of the measured stages; default 16, 40, 60, 72
	Length    time.Duration // of a stage; default 15 s
	Samples   int
	Slots     int     // requests that the engine serves at once; default 64, which gives a knee near 62/s
	Failing   float64 // share of requests that the server answers with 500
	SLO       *runplan.SLO
	Axes      []runplan.AxisValue
	OnInvalid string
	Checks    []report.Check // added to each measured stage
	Restart   bool           // the engine's counters fall during the last stage
	Stages    int            // stages that were written before load-gen was interrupted; 0: all
	NoResult  bool           // load-gen left nothing
	Name      string         // of the plan
	Trim      runplan.Trim   // what is left out at both ends of each measured stage
}

// Start of every synthetic run.
func Start() time.Time { return time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC) }

// Write makes the directory and returns it.
func Write(t testing.TB, r Run) string {
	t.Helper()
	dir := t.TempDir()
	WriteTo(t, dir, r)
	return dir
}

// WriteTo fills dir.
func WriteTo(t testing.TB, dir string, r Run) {
	t.Helper()
	r = r.withDefaults()
	plan := Plan(t, r)
	data, err := runplan.Marshal(plan)
	check(t, err)
	writeFile(t, dir, contract.FilePlan, data)
	writeJSON(t, dir, contract.FileEndpoint, map[string]any{"schema": "bflow.endpoint/1", "url": "http://127.0.0.1:8000",
		"model": "acme/tiny-1b", "served_models": []string{"acme/tiny-1b"}, "engine": "sim", "version": "0.1.0",
		"release": "demo", "deployed": true, "started": Start().Add(-3 * time.Second), "ready": Start().Add(-time.Second)})
	writeJSON(t, dir, contract.FileSmoketest,
		map[string]any{"schema": "bflow.smoketest/1", "endpoint": "http://127.0.0.1:8000",
			"model": "acme/tiny-1b", "passed": true, "checks": []any{}})
	if !r.NoResult {
		newLoad(t, report.MeasurementDir(dir, 0), plan, r).write()
	}
}

func (r Run) withDefaults() Run {
	if r.ID == "" {
		r.ID = "ladder-20260504-abcde"
	}
	if r.Name == "" {
		r.Name = "ladder"
	}
	if len(r.Rates) == 0 {
		r.Rates = []float64{16, 40, 60, 72}
	}
	if r.Length == 0 {
		r.Length = 15 * time.Second
	}
	if r.Slots == 0 {
		r.Slots = 64
	}
	r.Samples = max(1, r.Samples)
	return r
}

// Plan is the plan of the run: an open ladder with a warm-up against engine sim.
func Plan(t testing.TB, r Run) *runplan.RunPlan {
	t.Helper()
	r = r.withDefaults()
	stages := []runplan.Stage{{
		Name: "warm", Shape: runplan.ShapeOpen, Rate: 8, Arrival: "constant",
		Duration: runplan.Duration(2 * time.Second),
	}}
	for _, rate := range r.Rates {
		stages = append(stages,
			runplan.Stage{Name: fmt.Sprintf("rate-%g", rate), Measure: true, Shape: runplan.ShapeOpen, Rate: rate,
				Arrival: "poisson", Duration: runplan.Duration(r.Length), SkipFirst: r.Trim, SkipLast: r.Trim})
	}
	p := &runplan.RunPlan{
		APIVersion: runplan.APIVersion, Kind: runplan.Kind, Name: r.Name, Experiment: "ladder", Index: 1,
		Axes: r.Axes, SLO: r.SLO,
		Deployment: runplan.Deployment{Platform: "kubernetes", Mode: "plain",
			Model: runplan.Model{Name: "acme/tiny-1b"}, Replicas: 1,
			TensorParallel: 1, EndpointPath: "/v1/models",
			Engine: runplan.Engine{Kind: "sim", HealthPath: "/health", MetricsPath: "/metrics",
				Sim: &runplan.Sim{MaxNumSeqs: r.Slots}}},
		Measurements: []runplan.Measurement{{Name: "load", Tool: "native", Runner: runplan.RunnerNative, Samples: r.Samples,
			API: runplan.API{Type: "completions", Path: "/v1/completions", Stream: true,
				Timeout: runplan.Duration(time.Minute), ExactOutput: true},
			Data: runplan.Data{Input: &runplan.Length{Shape: "normal", Mean: 512, Stdev: 64, Min: 256, Max: 768},
				Output: &runplan.Length{Shape: "fixed", Mean: tokensOut}, Turns: 1, Seed: 42}, Stages: stages}},
		Target: runplan.Target{Name: "local", Namespace: "benchflow"},
		Queue:  runplan.Queue{Name: "local", Isolation: "shared"},
		Execution: runplan.Execution{OnInvalid: r.OnInvalid, VerifyCompletions: true,
			Phases: runplan.Phases{Deploy: true, Benchmark: true, Collect: true, Cleanup: true}},
	}
	check(t, runplan.Identify(p))
	return p
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func writeFile(t testing.TB, dir, name string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(t, os.WriteFile(path, data, 0o644))
}

func writeJSON(t testing.TB, dir, name string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	check(t, err)
	writeFile(t, dir, name, data)
}

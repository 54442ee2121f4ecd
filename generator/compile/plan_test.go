package compile

import (
	"testing"
	"time"

	"bflow.dev/bflow/runplan"
)

// MakePlan returns a sealed plan of one measurement on the simulated engine, changed by edits.
func MakePlan(t testing.TB, edits ...func(*runplan.RunPlan)) *runplan.RunPlan {
	t.Helper()
	p := &runplan.RunPlan{
		APIVersion: runplan.APIVersion, Kind: runplan.Kind,
		Name: "tiny-chat", Experiment: "tiny-chat", Index: 1,
		Deployment: runplan.Deployment{
			Platform: "kubernetes", Mode: "plain", Model: runplan.Model{Name: "acme/tiny-1b"},
			Engine:       runplan.Engine{Kind: "sim", Port: 8000, HealthPath: "/health", MetricsPath: "/metrics"},
			EndpointPath: "/v1/models", EndpointScope: "internal", Replicas: 1, TensorParallel: 1,
		},
		Measurements: []runplan.Measurement{MakeMeasurement("load")},
		Target:       runplan.Target{Name: "local", Namespace: "benchflow", ServiceAccount: "bflow-runner"},
		Queue: runplan.Queue{Name: "local", Requests: map[string]string{"bflow.dev/cluster-slot": "1"},
			Isolation: "shared"},
		Timeouts: runplan.Timeouts{
			Pipeline: minutes(45), Tasks: minutes(30), Finally: minutes(15), Ready: minutes(5),
			Task: map[string]runplan.Duration{"provision": minutes(6), "smoketest": minutes(2), "load-gen-0": minutes(10),
				"release": minutes(3), "collect": minutes(4), "mlflow-push": minutes(5)},
			Measurement: []runplan.Duration{minutes(2)},
		},
		Execution: runplan.Execution{VerifyCompletions: true,
			Phases: runplan.Phases{Deploy: true, Benchmark: true, Collect: true, Cleanup: true}},
	}
	for _, edit := range edits {
		edit(p)
	}
	if err := runplan.Identify(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// MakeMeasurement returns a minute of two concurrent streams.
func MakeMeasurement(name string) runplan.Measurement {
	return runplan.Measurement{
		Name: name, Tool: "native", Runner: "native", Samples: 1,
		API: runplan.API{Type: "chat", Path: "/v1/chat/completions", Stream: true, Timeout: minutes(10), VerifyTLS: true,
			ExactOutput: true},
		Data: runplan.Data{Input: &runplan.Length{Shape: "fixed", Mean: 128},
			Output: &runplan.Length{Shape: "fixed", Mean: 32}, Turns: 1, Seed: 42},
		Stages: []runplan.Stage{{Name: "c2", Measure: true, Shape: runplan.ShapeClosed, Concurrency: 2,
			Duration: minutes(1)}},
	}
}

func minutes(n int) runplan.Duration { return runplan.Duration(time.Duration(n) * time.Minute) }

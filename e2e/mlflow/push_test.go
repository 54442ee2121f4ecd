//go:build e2e

package mlflow

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"bflow.dev/bflow/tasks/mlflow"
)

func TestPushAndRepeat(t *testing.T) {
	s := startServer(t)
	client, err := mlflow.NewClient(func(k string) string { return map[string]string{"MLFLOW_TRACKING_URI": s.url()}[k] }, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	os.MkdirAll(filepath.Join(dir, "a/b"), 0o755)
	os.WriteFile(filepath.Join(dir, "a/b/x.txt"), []byte("hello"), 0o644)
	os.WriteFile(filepath.Join(dir, "empty"), nil, 0o644)
	r := &mlflow.Replay{Experiment: "exp", RunName: "r1", RunKey: "k1", Start: time.Unix(1000, 0), End: time.Unix(2000, 0), Status: mlflow.Failed,
		Tags: []mlflow.Pair{{Key: "bflow.run_key", Value: "k1"}, {Key: "mlflow.runName", Value: "r1"}}, Params: []mlflow.Pair{{Key: "model", Value: "é"}},
		Points:    []mlflow.Point{{Key: "ttft/p50", Value: 1.25, Timestamp: 1700000000000, Step: 4}, {Key: "ttft/p50", Value: 2.5, Timestamp: 1700000000500, Step: 8}},
		Artifacts: []mlflow.Artifact{{File: "a/b/x.txt", Path: "a/b/x.txt", Size: 5}, {File: "empty", Path: "empty"}}}
	for range 2 {
		info, err := client.Push(t.Context(), dir, r)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(info)
	}
}

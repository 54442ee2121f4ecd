//go:build e2e

package cluster

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/runplan/contract"
)

// track has runs send their results to the MLflow server of BFLOW_E2E_MLFLOW, if there is one.
func (tr tracking) track() {
	tr.l.t.Helper()
	url := os.Getenv("BFLOW_E2E_MLFLOW")
	if url == "" {
		return
	}
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": contract.SecretMLflow},
		"stringData": map[string]any{contract.EnvMLflowURI: url},
	}}
	_, err := tr.l.api.Resource(secrets).Namespace(namespace).Create(tr.l.t.Context(), secret, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		tr.l.t.Fatal(err)
	}
}

// trackedRun is what the tracking server says of a run.
type trackedRun struct {
	Info struct {
		Name   string `json:"run_name"`
		Status string `json:"status"`
	} `json:"info"`
}

// runs asks MLflow, by plain HTTP, for what it has of a run or a matrix.
func (tr tracking) runs(name string) []trackedRun {
	tr.l.t.Helper()
	return append(tr.tagged("bflow.run", name), tr.tagged("bflow.matrix", name)...)
}

func (tr tracking) tagged(key, value string) []trackedRun {
	tr.l.t.Helper()
	if os.Getenv("BFLOW_E2E_MLFLOW") == "" {
		return nil
	}
	var found struct {
		Experiments []struct {
			ID string `json:"experiment_id"`
		} `json:"experiments"`
	}
	tr.ask("experiments/search", map[string]any{"max_results": 1000}, &found)
	var ids []string
	for _, e := range found.Experiments {
		ids = append(ids, e.ID)
	}
	var out struct {
		Runs []trackedRun `json:"runs"`
	}
	tr.ask("runs/search", map[string]any{"experiment_ids": ids, "filter": "tags.`" + key + "` = '" + value + "'"}, &out)
	return out.Runs
}

// trackedOpen names runs of MLflow that say that they still run.
func (lr labRun) trackedOpen() (open []string) {
	lr.l.t.Helper()
	for _, r := range lr.l.mlflow().runs(lr.name) {
		if r.Info.Status == "RUNNING" || r.Info.Status == "SCHEDULED" {
			open = append(open, "MLflow run "+r.Info.Name)
		}
	}
	return open
}

func (tr tracking) ask(path string, in, out any) {
	tr.l.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		tr.l.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, os.Getenv("BFLOW_E2E_MLFLOW")+"/api/2.0/mlflow/"+path,
		bytes.NewReader(body))
	if err != nil {
		tr.l.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true // a server ends a connection that has been idle for some seconds, also while the next request comes
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		tr.l.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		tr.l.t.Fatalf("MLflow answers %s to %s", resp.Status, path)
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		tr.l.t.Fatal(err)
	}
}

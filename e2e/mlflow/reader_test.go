//go:build e2e

package mlflow

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/tasks/mlflow"
)

// stored is a run as the server gives it out, read with plain HTTP and not with the client under test.
type stored struct {
	Name, Status string
	Params, Tags map[string]string
	History      map[string][]string      // metric -> its points as "step timestamp value", sorted
	Files        map[string]string        // path -> sha256 of what is downloaded
	fetch        func(path string) []byte `json:"-"`
}

type serverRun struct {
	Info struct {
		RunID       string `json:"run_id"`
		RunName     string `json:"run_name"`
		Status      string `json:"status"`
		ArtifactURI string `json:"artifact_uri"`
	} `json:"info"`
	Data struct {
		Metrics []mlflow.Point `json:"metrics"`
		Params  []mlflow.Pair  `json:"params"`
		Tags    []mlflow.Pair  `json:"tags"`
	} `json:"data"`
}

func (s *server) call(t *testing.T, method, path string, in, out any) {
	t.Helper()
	data := s.raw(t, method, "/api/2.0/mlflow/"+path, in)
	if err := json.Unmarshal(data, out); err != nil {
		t.Fatalf("%s: %v: %s", path, err, data)
	}
}

func (s *server) raw(t *testing.T, method, path string, in any) []byte {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(method, s.url()+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true // a server ends a connection that has been idle for some seconds, also while the next request comes
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %v %s", method, path, resp.StatusCode, err, data)
	}
	return data
}

// runs lists the runs of an experiment.
func (s *server) runs(t *testing.T, experiment string) []serverRun {
	t.Helper()
	var exp struct {
		Experiment struct {
			ID string `json:"experiment_id"`
		} `json:"experiment"`
	}
	s.call(t, http.MethodGet, "experiments/get-by-name?experiment_name="+url.QueryEscape(experiment), nil, &exp)
	var found struct{ Runs []serverRun }
	s.call(t, http.MethodPost, "runs/search", map[string]any{
		"experiment_ids": []string{exp.Experiment.ID}, "max_results": 1000, "run_view_type": "ALL"}, &found)
	return found.Runs
}

// read returns the one run that carries the key of r. The whole history is read of every nth metric; of the others the
// latest point stands for it.
func (s *server) read(t *testing.T, r *mlflow.Replay, nth int) *stored {
	t.Helper()
	var hits []serverRun
	for _, run := range s.runs(t, r.Experiment) {
		if slices.Contains(run.Data.Tags, mlflow.Pair{Key: mlflow.RunKeyTag, Value: r.RunKey}) {
			hits = append(hits, run)
		}
	}
	if len(hits) != 1 {
		t.Fatalf("%d runs carry the key of %q, want 1", len(hits), r.RunName)
	}
	run := hits[0]
	out := &stored{Name: run.Info.RunName, Status: run.Info.Status, Params: pairs(run.Data.Params),
		Tags:    pairs(run.Data.Tags),
		History: map[string][]string{}, Files: map[string]string{}}
	for i, m := range run.Data.Metrics {
		out.History[m.Key] = []string{point(m)}
		if i%nth == 0 {
			out.History[m.Key] = s.history(t, run.Info.RunID, m.Key)
		}
	}
	base := "/api/2.0/mlflow-artifacts/artifacts/" + strings.TrimPrefix(run.Info.ArtifactURI, "mlflow-artifacts:/") + "/"
	out.fetch = func(path string) []byte { return s.raw(t, http.MethodGet, base+path, nil) }
	for _, path := range s.files(t, run.Info.RunID, "") {
		out.Files[path] = sum(out.fetch(path))
	}
	return out
}

func (s *server) history(t *testing.T, id, key string) []string {
	t.Helper()
	var found struct{ Metrics []mlflow.Point }
	s.call(t, http.MethodGet, "metrics/get-history?run_id="+id+"&metric_key="+url.QueryEscape(key), nil, &found)
	var out []string
	for _, p := range found.Metrics {
		out = append(out, point(p))
	}
	slices.Sort(out)
	return out
}

func (s *server) files(t *testing.T, id, folder string) []string {
	t.Helper()
	var found struct {
		Files []struct {
			Path  string
			IsDir bool `json:"is_dir"`
		}
	}
	s.call(t, http.MethodGet, "artifacts/list?run_id="+id+"&path="+url.QueryEscape(folder), nil, &found)
	var out []string
	for _, f := range found.Files {
		if f.IsDir {
			out = append(out, s.files(t, id, f.Path)...)
		} else {
			out = append(out, f.Path)
		}
	}
	return out
}

// compare checks params, tags and every point of every series against what was sent.
func (g *stored) compare(t *testing.T, r *mlflow.Replay) {
	t.Helper()
	if want := pairs(r.Params); fmt.Sprint(want) != fmt.Sprint(g.Params) {
		t.Errorf("params:\ngot  %v\nwant %v", g.Params, want)
	}
	for k, v := range pairs(r.Tags) {
		if g.Tags[k] != v {
			t.Errorf("tag %q is %q, want %q", k, g.Tags[k], v)
		}
	}
	want := map[string][]string{}
	for _, p := range r.Points {
		want[p.Key] = append(want[p.Key], point(p))
	}
	for key := range want {
		slices.Sort(want[key])
		if !slices.Equal(want[key], g.History[key]) {
			t.Errorf("metric %q:\ngot  %v\nwant %v", key, g.History[key], want[key])
		}
	}
	if len(want) != len(g.History) {
		t.Errorf("%d series are there, %d were sent", len(g.History), len(want))
	}
}

// compareFiles checks the artifacts against the local files, by size and hash.
func (g *stored) compareFiles(t *testing.T, dir string, r *mlflow.Replay) {
	t.Helper()
	if len(g.Files) != len(r.Artifacts) {
		t.Errorf("%d artifacts are there, %d were sent", len(g.Files), len(r.Artifacts))
	}
	for _, a := range r.Artifacts {
		local, err := os.ReadFile(filepath.Join(dir, a.File))
		if err != nil {
			t.Fatal(err)
		}
		if g.Files[a.Path] != sum(local) || int64(len(local)) != a.Size {
			t.Errorf("artifact %q differs from the file %q (%d bytes)", a.Path, a.File, len(local))
		}
	}
}

func point(p mlflow.Point) string { return fmt.Sprintf("%d %d %v", p.Step, p.Timestamp, p.Value) }

func pairs(list []mlflow.Pair) map[string]string {
	out := map[string]string{}
	for _, p := range list {
		out[p.Key] = p.Value
	}
	return out
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

func replayOf(t *testing.T, dir string) *mlflow.Replay {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, mlflow.ReplayFile))
	if err != nil {
		t.Fatal(err)
	}
	var r mlflow.Replay
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// bin is a binary that make build has made.
func bin(name string) string {
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", name))
	if err != nil {
		panic(err)
	}
	return path
}

//go:build e2e

package mlflow

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/tasks/mlflow"
)

// experiment is a matrix of two points, each one short stage.
const experiment = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: e2e, labels: {team: bench}}
spec:
  model: {name: acme/tiny}
  stages: {collect: false}
  deployment_profile: sim
  engine: {kind: sim, sim: {ttft: 5ms, itl: 1ms}}
  load: {data: {input: 16, output: 4}, stages: [{rate: [40, 80], duration: 1s}]}
  matrix: {axes: {engine.sim.itl: [1ms, 2ms]}}
  mlflow: {experiment: e2e, tags: {accelerator: none, note: "tag with ünicode"}}
`

// runMatrix runs the experiment on this host with the tracking server at uri and returns the run directories.
func runMatrix(t *testing.T, uri string, flags ...string) []string {
	t.Helper()
	root := t.TempDir()
	file := filepath.Join(root, "e2e.yaml")
	if err := os.WriteFile(file, []byte(experiment), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"run", "--local", "--plain", "--runs-dir", filepath.Join(root, "runs"), file}, flags...)
	cmd := exec.Command(bin("bflow"), args...)
	cmd.Env = append(os.Environ(), "MLFLOW_TRACKING_URI="+uri)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("bflow run: %v\n%s", err, out)
	}
	dirs, err := filepath.Glob(filepath.Join(root, "runs", "e2e-m*", "verdict.json"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range dirs {
		dirs[i] = filepath.Dir(dirs[i])
	}
	return dirs
}

func TestAMatrixRunIsOneRunPerPointBelowItsParent(t *testing.T) {
	s := startServer(t)
	dirs := runMatrix(t, s.url())
	if len(dirs) != 2 {
		t.Fatalf("the matrix has 2 points, there are %d runs", len(dirs))
	}
	held := s.runs(t, "e2e")
	if len(held) != 3 {
		t.Fatalf("the server holds %d runs of the experiment, want one per point and their parent", len(held))
	}
	at := slices.IndexFunc(held, func(r serverRun) bool { return pairs(r.Data.Tags)["bflow.matrix"] != "" })
	if at < 0 {
		t.Fatal("none of them is that of the matrix")
	}
	parent := held[at]
	if tags := pairs(parent.Data.Tags); parent.Info.Status != mlflow.Finished || tags["verdict"] == "" ||
		!strings.Contains(tags["mlflow.note.content"], "2 points, ") {
		t.Errorf("the parent is %s with %v", parent.Info.Status, tags)
	}
	for _, dir := range dirs {
		r := replayOf(t, dir)
		got := s.read(t, r, 1)
		if got.Tags[mlflow.ParentTag] != parent.Info.RunID || got.Tags["verdict"] != got.Tags["bflow.verdict"] {
			t.Errorf("run %q has the tags %v, its parent is %s", got.Name, got.Tags, parent.Info.RunID)
		}
		got.compare(t, r)
		got.compareFiles(t, dir, r)
		if got.Status != r.Status || got.Name != filepath.Base(dir) {
			t.Errorf("run %q has status %s, want %q and %s", got.Name, got.Status, filepath.Base(dir), r.Status)
		}
	}
}

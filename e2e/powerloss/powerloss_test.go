package powerloss

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/e2e/product"
	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) { product.Main(m) }

const experiment = `
apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: here}
spec: {platform: kubernetes, mode: plain, engine: {kind: sim}}
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: powerloss}
spec:
  model: {name: acme/tiny}
  deployment_profile: here
  engine: {kind: sim, sim: {ttft: 5ms, itl: 1ms}}
  execution: {on_invalid: mark}
  load:
    data: {input: 16, output: 4}
    stages: [{name: one, concurrency: 2, requests: 20}, {name: two, concurrency: 4, requests: 20}]
`

// seed draws names that are lost together, and the states that are resumed.
const seed = 17

// resumed is how many states are resumed whole.
const resumed = 30

func TestPowerIsLostAtEveryMoment(t *testing.T) {
	ops, id := recorded(t)
	at := func(name string) string { return path.Join("runs", id, name) }
	states, last := crashes(ops, func(name string) bool { return read(strings.TrimPrefix(name, at("")+"/")) })
	whole := filepath.Join(t.TempDir(), "whole", id)
	put(t, whole, last, at(""), all)
	reference := open(t, whole)
	var candidates [2][]state // the load goes on, or is kept
	dir := filepath.Join(t.TempDir(), id)
	for _, s := range states {
		put(t, dir, s.files, at(""), read)
		status, err := judge(dir, reference)
		if err != nil {
			t.Errorf("power is lost after operation %d of %d (%s): %v", s.after, len(ops), s.what, err)
		}
		if err == nil && len(status.Tasks) > 0 && status.State != local.Succeeded {
			kept := 0
			if succeeded(status, contract.LoadGen+"-0") {
				kept = 1
			}
			candidates[kept] = append(candidates[kept], s)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d operations, %d distinct states, of which %d go on with the load and %d without",
		len(ops), len(states), len(candidates[0]), len(candidates[1]))
	if t.Failed() || len(states) < 100 || len(candidates[0]) < resumed/2 || len(candidates[1]) < resumed/2 {
		t.Fatal("too few of these states can be resumed")
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	for _, some := range candidates {
		for _, i := range rng.Perm(len(some))[:resumed/2] {
			t.Run(fmt.Sprintf("resumed after operation %d, %s",
				some[i].after, strings.ReplaceAll(some[i].what, at("")+"/", "")), func(t *testing.T) {
				t.Parallel()
				resume(t, some[i], id, reference)
			})
		}
	}
}

// recorded runs the experiment on a disk that remembers, and returns what was done to it and the name of the run.
func recorded(t *testing.T) ([]op, string) {
	t.Helper()
	d, dir := mount(t)
	p := product.New(t)
	p.Runs = filepath.Join(dir, "runs")
	p.Write("powerloss.yaml", experiment)
	if got := p.Run("run", "--local", "--plain", "powerloss.yaml"); got.Code != contract.ExitPass {
		t.Fatalf("exit code %d:\n%s\n%s", got.Code, got.Out, got.Err)
	}
	id := p.Only().ID()
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.ops), id
}

// read says whether resuming a run, or judging it, reads a file: logs, events, scratch and what is half written are
// nobody's.
func read(name string) bool {
	folder, rest, _ := strings.Cut(name, "/")
	switch {
	case strings.HasPrefix(path.Base(name), "."):
		return false
	case folder == "local":
		return rest == "journal.jsonl" || rest == "objects.yaml"
	case folder == "deployment":
		return name == contract.FileEndpoint || name == contract.FileLastScrape
	case folder == contract.DirMeasurement:
		return !slices.Contains([]string{report.FileProgress, contract.FileRequests + ".part", "stage.spill"},
			path.Base(name))
	}
	return name != contract.FileEvents
}

// state is what a crash may leave.
type state struct {
	after int // operations
	what  string
	files map[string]held
}

// crashes are the distinct states that a crash could leave, and the last one, of which nothing is lost.
func crashes(ops []op, look func(string) bool) (states []state, last map[string]held) {
	s, rng, seen := newStorage(), rand.New(rand.NewPCG(seed, 1)), map[uint64]bool{}
	for i, o := range ops {
		s.apply(o)
		if o.kind != rename && o.kind != fsync && !look(s.at[o.id]) {
			continue // nobody reads it
		}
		for what, files := range s.states(rng, look) {
			if k := key(files, look); !seen[k] {
				seen[k] = true
				states = append(states, state{i + 1, what, files})
			}
		}
	}
	every := func(int) bool { return true }
	return states, s.contents(s.paths(every), kept)
}

func all(string) bool { return true }

// put writes the files of a state that lie below a folder and that look wants.
func put(t *testing.T, dir string, files map[string]held, below string, look func(string) bool) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, f := range files {
		name, ok := strings.CutPrefix(name, below+"/")
		if !ok || !look(name) {
			continue
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, f.data(), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// results are what a run that nobody interrupted has measured.
type results struct {
	rows         []byte // requests.jsonl.gz
	measurements string // of the report
}

func open(t *testing.T, dir string) results {
	t.Helper()
	rows, err := os.ReadFile(filepath.Join(report.MeasurementDir(dir, 0), contract.FileRequests))
	if err != nil {
		t.Fatal(err)
	}
	r, err := report.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(r.Measurements, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return results{rows, string(text)}
}

func succeeded(s local.Status, task string) bool {
	return slices.ContainsFunc(s.Tasks, func(t local.Task) bool { return t.Name == task && t.State == local.Succeeded })
}

// judge reads a run as resume does, and everything that the journal vouches for.
func judge(dir string, want results) (local.Status, error) {
	s, err := local.StatusOf(dir)
	if errors.Is(err, local.ErrNoRun) {
		return s, nil
	}
	if err != nil || len(s.Tasks) == 0 {
		return s, err
	}
	if err := objects(dir); err != nil {
		return s, err
	}
	if _, err := runplan.Read(dir); err != nil {
		return s, err
	}
	if succeeded(s, contract.Provision) {
		if err := step.ReadJSON(filepath.Join(dir, contract.FileEndpoint), new(json.RawMessage)); err != nil {
			return s, err
		}
	}
	if succeeded(s, contract.Smoketest) {
		if err := step.ReadJSON(filepath.Join(dir, contract.FileSmoketest), new(json.RawMessage)); err != nil {
			return s, err
		}
	}
	if succeeded(s, contract.LoadGen+"-0") {
		if err := measured(report.MeasurementDir(dir, 0), want); err != nil {
			return s, err
		}
	}
	if _, err := os.Stat(filepath.Join(dir, contract.FileChecksums)); succeeded(s, contract.Collect) && err != nil {
		return s, err
	}
	if err := checksums.Verify(dir, nil); err != nil {
		return s, err
	}
	if _, err := report.Read(dir); err != nil && (succeeded(s, contract.Collect) || !errors.Is(err, fs.ErrNotExist)) {
		return s, err
	}
	return s, nil
}

func objects(dir string) error {
	f, err := os.Open(filepath.Join(dir, "local", "objects.yaml"))
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = pipelines.Parse(f)
	return err
}

// measured reads a measurement that is said to be finished.
func measured(dir string, want results) error {
	var load report.LoadGen
	if err := step.ReadJSON(filepath.Join(dir, contract.FileLoadGen), &load); err != nil {
		return err
	}
	rows, err := os.ReadFile(filepath.Join(dir, contract.FileRequests))
	if err != nil {
		return err
	}
	stages, err := report.ReadStages(filepath.Join(dir, contract.FileStages))
	if err != nil {
		return err
	}
	values, err := report.ReadHistograms(filepath.Join(dir, contract.FileHistograms))
	if err != nil {
		return err
	}
	if !load.Complete || len(stages) != 2 || len(values) == 0 || string(rows) != string(want.rows) {
		return fmt.Errorf("the measurement is finished (complete: %v) with %d stages of 2, %d distributions, and %d "+
			"bytes of rows of %d", load.Complete, len(stages),
			len(values), len(rows), len(want.rows))
	}
	return nil
}

// resume goes on with a run after a loss of power: its result is that of a run that nobody interrupted, or all of it
// was measured again.
func resume(t *testing.T, s state, id string, want results) {
	p := product.New(t)
	put(t, filepath.Join(p.Runs, id), s.files, path.Join("runs", id), all)
	before, err := local.StatusOf(filepath.Join(p.Runs, id))
	if err != nil {
		t.Fatal(err)
	}
	got := p.Run("resume", "--plain", id)
	if got.Code != contract.ExitPass {
		t.Fatalf("exit code %d:\n%s\n%s", got.Code, got.Out, got.Err)
	}
	run := p.Only()
	if err := checksums.Verify(run.Dir, nil); err != nil {
		t.Error(err)
	}
	if succeeded(before, contract.LoadGen+"-0") {
		after := open(t, run.Dir)
		if diff := cmp.Diff(want.measurements, after.measurements); diff != "" {
			t.Errorf("the report (-uninterrupted +resumed):\n%s", diff)
		}
		return
	}
	h, rows := run.Rows()
	if m := run.Report().Measurements[0]; h.Attempt != before.Attempt+1 || len(rows) != 40 || !m.Complete {
		t.Errorf("attempt %d after %d, %d rows of 40, complete: %v", h.Attempt, before.Attempt, len(rows), m.Complete)
	}
	run.Join()
}

package compile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/runplan"

	"github.com/google/go-cmp/cmp"
)

// matrix is n plans that differ in name and rate.
func matrix(t testing.TB, n int) Plans {
	return func(yield func(*runplan.RunPlan, error) bool) {
		for i := 1; i <= n; i++ {
			plan := MakePlan(t, func(p *runplan.RunPlan) {
				p.Name, p.Index = fmt.Sprintf("tiny-chat-m%d", i), i
				p.Measurements[0].Stages[0].Concurrency = i
			})
			if !yield(plan, nil) {
				return
			}
		}
	}
}

func TestAMatrixHasOneRunPerPlanAndOnePipelinePerShape(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, matrix(t, 20), Options{}); err != nil {
		t.Fatal(err)
	}
	b, err := pipelines.Parse(&out)
	if err != nil {
		t.Fatal(err)
	}
	got := []int{len(b.Tasks), len(b.Pipelines), len(b.ConfigMaps), len(b.PipelineRuns)}
	if want := []int{7, 1, 20, 20}; !cmp.Equal(got, want) {
		t.Errorf("Tasks, Pipelines, ConfigMaps, PipelineRuns: got %v, want %v", got, want)
	}
}

// TestStreamHoldsWhatCompileReturns: the fast writer and the typed objects are the same.
func TestStreamHoldsWhatCompileReturns(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			plan := MakePlan(t, c.plan)
			want, err := Compile(plan, c.options)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := Write(&out, one(plan), c.options); err != nil {
				t.Fatal(err)
			}
			got, err := pipelines.Parse(&out)
			if err != nil {
				t.Fatal(err)
			}
			for i, o := range got.Tasks {
				sameJSON(t, want.Tasks[i], o)
			}
			for _, o := range got.Pipelines { // none where it lies in the bundle
				sameJSON(t, want.Pipeline, o)
			}
			sameJSON(t, want.ConfigMap, got.ConfigMaps[0])
			sameJSON(t, want.PipelineRun, got.PipelineRuns[0])
		})
	}
}

func sameJSON(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(mustJSON(want), mustJSON(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTheSamePlansGiveTheSameBytes(t *testing.T) {
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := Write(out, matrix(t, 5), Options{Version: "v0.1.0", Input: "sha256:0123"}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two compilations differ")
	}
	if want := "# Compiled by bflow v0.1.0 from sha256:0123. "; !strings.HasPrefix(first.String(), want) {
		t.Errorf("the header is %.60q, want it to start with %q", first.String(), want)
	}
}

func TestAHeaderIsOneComment(t *testing.T) {
	if got := header(Options{Input: "a\nkind: Secret"}); strings.Count(got, "\n") != 1 {
		t.Errorf("got %q, want one line", got)
	}
}

func TestAnErrorOfPlanningEndsTheStream(t *testing.T) {
	broken := errors.New("exp.yaml:3:5: spec.model: required")
	plans := func(yield func(*runplan.RunPlan, error) bool) { yield(nil, broken) }
	if err := Write(&bytes.Buffer{}, plans, Options{}); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestWriteDirHoldsOneFilePerObjectAndAnIndex(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if err := WriteDir(dir, matrix(t, 3), Options{}); err != nil {
		t.Fatal(err)
	}
	// Again, with fewer plans: nothing of the first compilation may stay.
	if err := WriteDir(dir, matrix(t, 2), Options{}); err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(dir, Index))
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Fields(string(index))
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(listed) || len(files) != 7+1+2+2 {
		t.Errorf("%d files and %d in the index, want 12 each", len(files), len(listed))
	}
	var stream bytes.Buffer
	for _, name := range listed {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		stream.Write(text)
	}
	b, err := pipelines.Parse(&stream)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.PipelineRuns[1].GenerateName; got != "tiny-chat-m2-" {
		t.Errorf("the second run is %q", got)
	}
}

func TestWriteDirKeepsFilesOfOthers(t *testing.T) {
	for _, stranger := range []string{"secret.yaml", "shared/secret.yaml", "runs/secret.yaml", "old/secret.yaml"} {
		dir := t.TempDir()
		file := filepath.Join(dir, stranger)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700),
			os.WriteFile(file, []byte("kind: Secret\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
		err := WriteDir(dir, matrix(t, 1), Options{})
		if err == nil || !strings.Contains(err.Error(), "name an empty folder") {
			t.Errorf("%s: got %v, want a refusal", stranger, err)
		}
		if files, _ := filepath.Glob(filepath.Join(dir, "*", "*")); len(files) > 1 {
			t.Errorf("%s: %q were written", stranger, files)
		}
	}
}

// TestAnIndexOfFilesElsewhereRemovesNothing: somebody may have written it.
func TestAnIndexOfFilesElsewhereRemovesNothing(t *testing.T) {
	for _, name := range []string{"../kept", "shared/../kept", "shared/sub/kept", "/etc/hostname", "kept", "runs/..",
		"shared/"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, Index), []byte(name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := WriteDir(dir, matrix(t, 1), Options{}); err == nil ||
			!strings.Contains(err.Error(), "is not a file that compile writes") {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
}

// TestOnlyRunsHaveNoName: what lies in shared can be applied again, what lies in runs is made anew each time.
func TestOnlyRunsHaveNoName(t *testing.T) {
	dir := t.TempDir()
	if err := WriteDir(dir, matrix(t, 3), Options{Matrix: true}); err != nil {
		t.Fatal(err)
	}
	for folder, named := range map[string]bool{Shared: true, Runs: false} {
		files, err := filepath.Glob(filepath.Join(dir, folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s holds %d files, %v", folder, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := !bytes.Contains(text, []byte("\n  generateName: ")); got != named {
				t.Errorf("%s: its object has a name: %v, want %v", file, got, named)
			}
		}
	}
}

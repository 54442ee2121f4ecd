package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/screen"
	executor "bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/report/imports"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
)

// journal makes the folder of a run with the first line of its journal, of a matrix where one is named.
func journal(t *testing.T, root, name, matrix string) {
	t.Helper()
	dir := filepath.Join(root, name, "local")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	line := `{"time":"2026-11-25T12:00:00Z","kind":"attempt_started","attempt":1,"runId":"` + name + `","matrix":"` +
		matrix + `"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
}

func kinds(root string) *runs.Registry {
	at := func() (string, error) { return root, nil }
	return &runs.Registry{Local: []runs.Kind{Kind{Root: at}, MatrixKind{Root: at}}}
}

func TestARunIsFoundByItsNameItsOnlyStartOrItsPath(t *testing.T) {
	root := t.TempDir()
	for name, matrix := range map[string]string{"tiny-1": "", "two-m1-a": "two-2026", "two-m2-b": "two-2026", "tall": ""} {
		journal(t, root, name, matrix)
	}
	if err := os.MkdirAll(filepath.Join(root, CopiesDir, "tin"), 0o755); err != nil { // a copy is no run of this machine
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"tiny-1": "tiny-1", "ti": "tiny-1", filepath.Join(root, "tall"): "tall", "two-2026": "two-2026", "two-2": "two-2026",
		"two-m": "2 runs match: two-m1-a, two-m2-b", "tiny-2": "no such run in " + root + "; closest: tiny-1",
		"zzzzzzzz": "no such run among the 4 in " + root + "; see bflow list",
	} {
		run, err := kinds(root).Find(t.Context(), name, runs.Where{Local: true})
		var none *runs.NotFoundError
		switch {
		case err == nil && run.Names()[0] != want:
			t.Errorf("%s: found %q, want %q", name, run.Names(), want)
		case err != nil && (!errors.As(err, &none) || !strings.Contains(none.Why, want)):
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestAMatrixIsOneRow(t *testing.T) {
	root := t.TempDir()
	for name, matrix := range map[string]string{"tiny-1": "", "two-m1-a": "two-2026", "two-m2-b": "two-2026"} {
		journal(t, root, name, matrix)
	}
	for all, want := range map[bool]string{false: "tiny-1 two-2026", true: "tiny-1 two-m1-a two-m2-b"} {
		rows, err := runs.List(t.Context(), kinds(root).Local, all)
		var names []string
		for _, r := range rows {
			names = append(names, r.RunID)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("all %t: %q, %v; want %q", all, got, err, want)
		}
	}
}

// importTheirs imports a result of another tool under the name "theirs".
func importTheirs(t *testing.T, root string) (dir string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.json")
	const text = `{"date":"20261121-101500","endpoint_type":"openai-chat","backend":"openai-chat",` +
		`"model_id":"acme/tiny","num_prompts":2,` +
		`"request_rate":"inf","burstiness":1.0,"max_concurrency":2,"duration":2.0,"completed":2,"failed":0,` +
		`"total_input_tokens":20,` +
		`"total_output_tokens":7,"request_throughput":1.0,"output_throughput":3.5,"total_token_throughput":13.5,` +
		`"mean_ttft_ms":55.0,` +
		`"median_ttft_ms":55.0,"std_ttft_ms":5.0,"p99_ttft_ms":59.9}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, _, err := Import(t.Context(), ImportOptions{Root: root, Files: []string{file}, As: imports.Auto, Name: "theirs"})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAnImportedRunIsARun(t *testing.T) {
	root := t.TempDir()
	dir := importTheirs(t, root)
	run, err := kinds(root).Find(t.Context(), "the", runs.Where{Local: true})
	if err != nil {
		t.Fatal(err)
	}
	view, err := run.Status(t.Context())
	if err != nil || view.Value.(runs.Status).State != executor.Succeeded {
		t.Errorf("%+v, %v", view.Value, err)
	}
	var out, said strings.Builder
	on := runs.Console{Out: &out, Err: &said}
	if err := run.Logs(t.Context(), on, runs.LogOptions{}); err != nil || out.Len() > 0 ||
		!strings.Contains(said.String(), "theirs has no logs: it was imported from") {
		t.Errorf("%v; out %q, err %q", err, out.String(), said.String())
	}
	if _, err := run.Cancel(t.Context(), false); err == nil {
		t.Error("what has ended was cancelled")
	}
	if err := run.Delete(context.Background(), on, runs.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

// TestWhatAReportSaysOfItsOriginIsShownAsPlainText: the file may come from anywhere.
func TestWhatAReportSaysOfItsOriginIsShownAsPlainText(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(importTheirs(t, root), contract.FileReport)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	origin := regexp.MustCompile(`"imported_from": *"[^"]*"`)
	if !origin.Match(text) {
		t.Fatalf("no origin in %s", text)
	}
	text = origin.ReplaceAll(text, []byte(`"imported_from": "a tool\u001b[2J\nPASS"`))
	text = regexp.MustCompile(`"verdict": *"[^"]*"`).ReplaceAll(text, []byte(`"verdict": "pass\u001b[2J"`))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	run, err := kinds(root).Find(t.Context(), "theirs", runs.Where{Local: true})
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	on := runs.Console{Out: &said, Err: &said}
	if _, err := run.Follow(t.Context(), on); err != nil {
		t.Error(err)
	}
	if err := run.Logs(t.Context(), on, runs.LogOptions{}); err != nil {
		t.Error(err)
	}
	view, err := run.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := view.Table(&said, screen.Screen{}); err != nil {
		t.Error(err)
	}
	_, err = run.Cancel(t.Context(), false)
	said.WriteString(err.Error())
	got := said.String()
	if !strings.Contains(got, "imported from a tool") || strings.Contains(got, "\x1b") || strings.Contains(got, "\nPASS") {
		t.Errorf("it shows %q", got)
	}
}

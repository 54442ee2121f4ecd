package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCompletionOffersWhatMayCome(t *testing.T) {
	t.Setenv("BFLOW_RUNS_DIR", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	for _, row := range []struct {
		name string
		line []string // the last word is to be completed
		want string   // of what is offered; "" = nothing is
		not  string
	}{
		{"commands", []string{""}, "validate", "step"},
		{"commands that begin so", []string{"va"}, "validate", "plan"},
		{"commands of a command", []string{"profiles", ""}, "show", "validate"},
		{"flags", []string{"export", "a-run", "--fo"}, "--format", "--out"},
		{"flags behind a flag with a value", []string{"export", "--out", "x", "--"}, "--format", ""},
		{"values of a flag", []string{"export", "a-run", "--format", ""}, "guidellm", "--format"},
		{"values by the short name of a flag", []string{"list", "-o", "j"}, "json", "yaml"},
		{"files, by offering nothing", []string{"plan", ""}, "", ""},
		{"files behind a flag", []string{"run", "--kubeconfig", ""}, "", ""},
		{"profiles", []string{"profiles", "show", "rhaiis"}, "rhaiis-raw-vllm", ""},
		{"shells", []string{"completion", ""}, "fish", ""},
		{"no run where none is", []string{"status", ""}, "", ""},
	} {
		got := strings.Fields(bflow(t, append(row.line, completionFlag)...))
		if row.want == "" && len(got) > 0 || row.want != "" && !slices.Contains(got, row.want) ||
			row.not != "" && slices.Contains(got, row.not) {
			t.Errorf("%s: %q gets %q; want %q and not %q", row.name, row.line, got, row.want, row.not)
		}
	}
}

func TestCompletionKnowsRunsAndMatrices(t *testing.T) {
	root := t.TempDir()
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", root)
	for name, journal := range map[string]string{
		"tiny-1": `{"time":"2026-11-25T12:00:00Z","kind":"attempt_started","attempt":1,"runId":"tiny-1"}`,
		"two-m1": `{"time":"2026-11-25T12:00:00Z","kind":"attempt_started","attempt":1,"runId":"two-m1",` +
			`"matrix":"two-20261125"}`,
	} {
		dir := filepath.Join(root, name, "local")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), []byte(journal+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := strings.Fields(bflow(t, "status", "--runs-dir", root, "t", completionFlag))
	if want := []string{"tiny-1", "two-20261125", "two-m1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

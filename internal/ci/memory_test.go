package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/ci/choose"
	"bflow.dev/bflow/internal/ci/green"
	"bflow.dev/bflow/internal/ci/step"
)

// repository has one commit, whose work tree is clean.
func repository(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, args := range [][]string{{"init", "--quiet"}, {"-c", "user.name=a", "-c", "user.email=a@example.test", "commit",
		"--quiet", "--allow-empty", "--message", "c"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	return root
}

func TestARowIsRememberedOnceAllThatProvesItHasPassed(t *testing.T) {
	m, err := choose.Load(t.Context(), "../..", "e2e")
	if err != nil {
		t.Fatal(err)
	}
	p := place{root: repository(t), green: filepath.Join(t.TempDir(), "green.json")}
	var said bytes.Buffer
	memory, err := remember(t.Context(), &said, p, green.Record{Go: "go1"},
		chosen{choices: choose.Everything(rows(m), "a row says so")})
	if err != nil {
		t.Fatal(err)
	}
	const racing = "bflow.dev/bflow/verdict"
	for _, tt := range []struct {
		step  string
		state step.State
		row   string
		green bool // the row, after the step
	}{
		{unit, step.Passed, racing, false}, // it proves no row
		{race, step.Passed, racing, true},
		{newest, step.Passed, newest, true},
		{newest, step.Passed, oldest, false},
		{runs, step.Passed, rowClusters, false},
		{rights, step.Failed, rowClusters, false},
		{rights, step.Passed, rowClusters, true},
		{soak, step.Interrupted, rowSoak, false},
	} {
		memory.ended(t.Context(), step.Result{Name: tt.step, State: tt.state})
		got, err := green.Read(t.Context(), p.green, p.root, green.Record{Go: "go1"})
		if _, known := got.Rows[tt.row]; known != tt.green {
			t.Errorf("after step %s row %s is remembered: %v, want %v; %v", tt.step, tt.row, known, tt.green, err)
		}
	}
	if said.Len() > 0 {
		t.Errorf("it said %s", said.String())
	}
}

func TestWhatPassesInAWorkTreeThatChangesIsNotRemembered(t *testing.T) {
	p := place{root: repository(t), green: filepath.Join(t.TempDir(), "green.json")}
	c := chosen{choices: choose.Everything([]choose.Row{{Name: rowSoak, Programs: []string{"p"}},
		{Name: rowValidity, Programs: []string{"p"}}}, "a row says so")}
	var said bytes.Buffer
	memory, err := remember(t.Context(), &said, p, green.Record{}, c)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(p.root, "new")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	memory.ended(t.Context(), step.Result{Name: soak, State: step.Passed})
	if !strings.Contains(said.String(), "the work tree has changed meanwhile: the next run will not know that soak") {
		t.Errorf("it said %q", said.String())
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	memory.ended(t.Context(), step.Result{Name: validity, State: step.Passed})
	got, err := green.Read(t.Context(), p.green, p.root, green.Record{})
	if err != nil || len(got.Rows) != 1 || got.Rows[rowValidity] == "" {
		t.Errorf("it remembers %v, %v, want row validity alone", got.Rows, err)
	}
}

func TestEachRowIsComparedWithItsOwnCommit(t *testing.T) {
	m, err := choose.Load(t.Context(), "../..", "e2e")
	if err != nil {
		t.Fatal(err)
	}
	commit, _, err := green.Head(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	changed, err := green.Changed(t.Context(), "../..", commit)
	if err != nil {
		t.Fatal(err)
	}
	c, err := compared(t.Context(), place{root: "../.."}, m, map[string]string{rowSoak: commit})
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows(m) {
		want := "no commit is remembered at which it passed"
		if row.Name == rowSoak {
			want = m.Choose([]choose.Row{row}, changed)[0].Because
		}
		if got := c.choices[i]; got.Name != row.Name || got.Because != want {
			t.Errorf("row %d is %s because %q, want %s because %q", i, got.Name, got.Because, row.Name, want)
		}
	}
}

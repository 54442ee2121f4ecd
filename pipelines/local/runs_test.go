package local

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bflow.dev/bflow/runplan/contract"
)

func TestRunsAreListedNewestFirst(t *testing.T) {
	root, runs := hostRoot(t), t.TempDir()
	for _, name := range []string{"older", "newer"} {
		o := testOptions(root, filepath.Join(runs, name))
		o.RunID, o.Objects = name, parse(t, read(t, "testdata/run/programs.input.yaml"))
		if _, err := Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for path, err := range map[string]error{
		"no run": os.Mkdir(filepath.Join(runs, "no run"), 0o755),
		"file":   os.WriteFile(filepath.Join(runs, "file"), nil, 0o644),
	} {
		if err != nil {
			t.Fatal(path, err)
		}
	}
	got, err := List(runs)
	if err != nil || len(got) != 2 || got[0].RunID != "newer" || got[1].RunID != "older" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := List(filepath.Join(runs, "missing")); err != nil || len(got) != 0 {
		t.Errorf("a missing root: %v, %v", got, err)
	}
}

func TestRoot(t *testing.T) {
	for _, row := range []struct {
		name      string
		xdg, home string
		want      string
		fails     bool
	}{
		{name: "XDG_DATA_HOME comes first", xdg: "/data", home: "/home/u", want: "/data/bflow/runs"},
		{name: "else the home folder", home: "/home/u", want: "/home/u/.local/share/bflow/runs"},
		{name: "a relative XDG_DATA_HOME is ignored, as its standard says", xdg: "data", home: "/home/u",
			want: "/home/u/.local/share/bflow/runs"},
		{name: "without either there is no root", fails: true},
	} {
		got, err := Root(func(name string) string {
			return map[string]string{"XDG_DATA_HOME": row.xdg, "HOME": row.home}[name]
		})
		if got != row.want || (err != nil) != row.fails {
			t.Errorf("%s: got %q, %v", row.name, got, err)
		}
	}
}

// recorder is an observer that keeps what it is told.
type recorder struct {
	mu    sync.Mutex
	kinds []Kind
}

func (r *recorder) Changed(rec Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kinds = append(r.kinds, rec.Kind)
}

func TestAnObserverSeesEachTransition(t *testing.T) {
	o := testOptions(hostRoot(t), filepath.Join(t.TempDir(), "run"))
	o.Objects = parse(t, read(t, "testdata/run/steps.input.yaml"))
	seen := &recorder{}
	o.Observer = seen
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	want := []Kind{
		AttemptStarted, TaskStarted, RunStarted, StepStarted, StepFinished, StepStarted, StepFinished,
		StepStarted, StepFinished,
		RunFinished, TaskFinished, AttemptFinished,
	}
	if !slices.Equal(seen.kinds, want) {
		t.Errorf("transitions %v, want %v", seen.kinds, want)
	}
	events := read(t, filepath.Join(o.RunDir, contract.FileEvents))
	if strings.Count(events, "\n") != 4 || !strings.Contains(events, `"source":"local","event":"task_finished"`) {
		t.Errorf("events:\n%s", events)
	}
}

func TestExpandFollowsKubernetes(t *testing.T) {
	env := []string{"A=1", "B=2", "A=3"}
	for _, row := range []struct{ name, in, want string }{
		{"a variable", "x$(A)y", "x3y"},
		{"an unknown one stays", "$(C)", "$(C)"},
		{"a doubled dollar is a literal one", "$$(A) $$", "$(A) $"},
		{"a lone dollar stays", "$ $A $", "$ $A $"},
		{"an open bracket stays", "$(A", "$(A"},
		{"several", "$(A)$(B)", "32"},
	} {
		if got := expand(row.in, env); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

func TestRelocationReplacesWholePathsOnly(t *testing.T) {
	paths := relocation{"/tmp": "/run/t", "/tmp/cache": "/run/c", "/etc/conf": "/run/conf"}
	for _, row := range []struct{ name, in, want string }{
		{"the path itself", "/tmp", "/run/t"},
		{"below it", "/tmp/x", "/run/t/x"},
		{"the longest wins", "/tmp/cache/x", "/run/c/x"},
		{"a name that only begins alike stays", "/tmpfs /tmp-x", "/tmpfs /tmp-x"},
		{"after an equals sign", "--dir=/tmp/x", "--dir=/run/t/x"},
		{"in a list", "/tmp:/etc/conf", "/run/t:/run/conf"},
		{"in the middle of another path it stays", "/var/tmp", "/var/tmp"},
		{"a URL stays", "http://tmp/tmp", "http://tmp/tmp"},
	} {
		if got := paths.apply(row.in); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

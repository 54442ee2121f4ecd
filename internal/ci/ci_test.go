package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/ci/choose"
)

// TestAModuleProxyThatFailsTwiceIsAskedAgain downloads a module from a proxy that answers 500 to the first two
// requests.
func TestAModuleProxyThatFailsTwiceIsAskedAgain(t *testing.T) {
	for _, tt := range []struct {
		fails int64
		works bool
	}{{fails: 0, works: true}, {fails: 2, works: true}, {fails: 1000}} {
		t.Run(fmt.Sprintf("%d answers of 500", tt.fails), func(t *testing.T) {
			var asked atomic.Int64
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) <= tt.fails {
					http.Error(w, "the registry is being restarted", http.StatusInternalServerError)
					return
				}
				serveModule(w, r)
			}))
			defer proxy.Close()
			dir := t.TempDir()
			for name, value := range map[string]string{
				"GOPROXY": proxy.URL, "GONOSUMDB": "*", "GOFLAGS": "-modcacherw", "GOMODCACHE": filepath.Join(dir, "cache"),
			} {
				t.Setenv(name, value)
			}
			t.Chdir(dir)
			err := retryAfter(t.Context(), []time.Duration{0, 0, 0}, []string{"go", "mod", "download", "example.test/m@v1.0.0"})
			if tt.works && err != nil {
				t.Errorf("the download failed: %v", err)
			}
			if !tt.works && (err == nil || !strings.Contains(err.Error(), "4 times")) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// serveModule is a module proxy with one module.
func serveModule(w http.ResponseWriter, r *http.Request) {
	const mod = "module example.test/m\n"
	switch path.Ext(r.URL.Path) {
	case ".info":
		fmt.Fprint(w, `{"Version":"v1.0.0"}`)
	case ".mod":
		fmt.Fprint(w, mod)
	case ".zip":
		z := zip.NewWriter(w)
		f, err := z.Create("example.test/m@v1.0.0/go.mod")
		if err == nil {
			_, err = io.WriteString(f, mod)
		}
		if err := errors.Join(err, z.Close()); err != nil {
			panic(http.ErrAbortHandler)
		}
	default:
		http.NotFound(w, r)
	}
}

func TestARetryEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("a signal came"))
	if err := retryAfter(ctx, []time.Duration{time.Hour}, []string{"false"}); err == nil ||
		!strings.Contains(err.Error(), "a signal came") {
		t.Errorf("the error is %v", err)
	}
}

// TestASecondRunWaitsAndSaysForWhom: the lock is the kernel's, so it holds between processes and goes with its holder.
func TestASecondRunWaitsAndSaysForWhom(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), &bytes.Buffer{}, name)
	if err != nil {
		t.Fatal(err)
	}
	out := make(chan string, 1)
	second := make(chan error, 1)
	go func() {
		unlock, err := lock(t.Context(), channel(out), name)
		if err == nil {
			unlock()
		}
		second <- err
	}()
	if said, want := <-out, fmt.Sprintf("waiting for another run of the checks on this machine: process %d in ",
		os.Getpid()); !strings.HasPrefix(said, want) {
		t.Errorf("it says %q, want %q...", said, want)
	}
	unlock()
	if err := <-second; err != nil {
		t.Error(err)
	}
}

func TestARunThatIsToEndWaitsNoLonger(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), &bytes.Buffer{}, name)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("a signal came"))
	if _, err := lock(ctx, &bytes.Buffer{}, name); err == nil || !strings.Contains(err.Error(), "a signal came") {
		t.Errorf("the error is %v", err)
	}
}

// TestEveryPackageIsRunBySomething: whatever is broken, a unit test or a chosen row is built from it.
func TestEveryPackageIsRunBySomething(t *testing.T) {
	m, err := choose.Load(t.Context(), "../..", "e2e")
	if err != nil {
		t.Fatal(err)
	}
	always := append(unitRows(m), choose.Row{Name: verify, Programs: generators(t, m)})
	for _, pkg := range m.Packages(".") {
		files := m.Files(pkg)
		if len(files) == 0 {
			continue
		}
		chosen := m.Choose(append(rows(m), always...), files[:1]) // the others have the same package
		if !slices.ContainsFunc(chosen, func(c choose.Choice) bool { return c.Because != "" }) {
			t.Errorf("nothing is run when %s changes: give package %s a test", files[0], pkg)
		}
	}
}

// TestWhatRunsUnderTheRaceDetectorIsThere: a folder that has moved would go without it, and nobody would notice.
func TestWhatRunsUnderTheRaceDetectorIsThere(t *testing.T) {
	var out bytes.Buffer
	if err := command(t.Context(), &out, []string{"race"}); err != nil {
		t.Fatal(err)
	}
	m, err := choose.Load(t.Context(), "../..", "e2e")
	if err != nil {
		t.Fatal(err)
	}
	patterns := strings.Fields(out.String())
	for _, pattern := range patterns {
		folder := strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/...")
		if len(m.Packages(folder)) == 0 {
			t.Errorf("%s has no packages", pattern)
		}
	}
	if !slices.Contains(patterns, "./pipelines/local/...") {
		t.Errorf("the patterns are %q", patterns)
	}
}

// generators are the programs that go generate runs, as step verify does.
func generators(t *testing.T, m *choose.Module) (mains []string) {
	t.Helper()
	cmd := exec.Command("git", "grep", "-hoE", "^//go:generate go run \\S+", "--", "*.go")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, main := range m.Mains(".") {
		for line := range strings.Lines(string(out)) {
			if strings.HasSuffix(main, "/"+path.Base(strings.TrimSpace(line))) {
				mains = append(mains, main)
			}
		}
	}
	return mains
}

// TestTheChecksNeedNothingButGo: they are built before anything is downloaded.
func TestTheChecksNeedNothingButGo(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		if !strings.HasPrefix(dep, "bflow.dev/bflow/internal/ci") {
			t.Errorf("it imports %s", dep)
		}
	}
}

func TestTheStepsAreAGraph(t *testing.T) {
	for _, because := range []string{"", "a row says so"} {
		m, err := choose.Load(t.Context(), "../..", "e2e")
		if err != nil {
			t.Fatal(err)
		}
		c := chosen{choices: choose.Everything(rows(m), because)}
		var waits []string
		for _, s := range steps(place{root: ".", cache: t.TempDir()}, c, t.TempDir()) {
			for _, before := range slices.Concat(s.Needs, s.After) {
				if !slices.Contains(waits, before) {
					t.Errorf("%q waits for %q, which does not stand before it", s.Name, before)
				}
			}
			if got := s.Skip != ""; got && because != "" {
				t.Errorf("%q is left out when everything is chosen: %s", s.Name, s.Skip)
			}
			waits = append(waits, s.Name)
		}
	}
}

// TestWorkflowsRunWhatTheChecksRun: a line of a workflow is a target of the Makefile, or a script that a step runs.
func TestWorkflowsRunWhatTheChecksRun(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("workflows %q, %v", files, err)
	}
	var scripts []string
	for _, k := range checks(place{}, chosen{}) {
		scripts = append(scripts, k.argv[0])
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var flow struct {
			Jobs map[string]struct{ Steps []struct{ Run string } }
		}
		if err := yaml.Unmarshal(text, &flow); err != nil {
			t.Fatal(err)
		}
		for job, j := range flow.Jobs {
			for _, s := range j.Steps {
				if first, _, _ := strings.Cut(s.Run, " "); s.Run != "" && !slices.Contains(scripts, first) ||
					strings.Contains(s.Run, "\n") {
					t.Errorf("%s: job %s runs %q, which no step runs", filepath.Base(file), job, s.Run)
				}
			}
		}
	}
}

// channel hands on what is written.
type channel chan string

func (c channel) Write(p []byte) (int, error) {
	c <- string(p)
	return len(p), nil
}

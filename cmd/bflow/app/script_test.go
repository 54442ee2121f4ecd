package app

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/internal/leakcheck"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// TestMain lets scripts call bflow, and lets bflow find itself when it starts steps. Scripts mostly wait: more
// of them go on beside each other than there are processors, unless -parallel says how many.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	testscript.Main(leakcheck.Around(m), map[string]func(){"bflow": func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		os.Exit(Main(ctx, Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Args))
	}})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "data"))
			env.Values[servers{}] = new(*apitest.Server)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "await": await, "webpage": webpage,
			"stall": stall, "hides": hides, "flip": flip, "apiserver": apiserver, "tekton": tekton, "results": serveResults},
	})
}

// exits runs a program and wants its exit code: exits CODE PROGRAM ARGS...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// hides wants no file below a folder that holds a text: hides FOLDER TEXT
func hides(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hides FOLDER TEXT")
	}
	files := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(args[1])) {
			ts.Fatalf("%s holds it", path)
		}
		return err
	}))
	if files == 0 {
		ts.Fatalf("there is nothing in %s", args[0])
	}
}

// flip changes one bit of a file, and the next time changes it back: flip FILE
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: flip FILE")
	}
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	data[len(data)/2] ^= 1
	ts.Check(os.WriteFile(path, data, 0o644))
}

// await waits for a file and sets a variable to its path: await VARIABLE PATTERN
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await VARIABLE PATTERN")
	}
	ts.Check(eventually.Look(context.Background(), args[1], func() error {
		found, err := filepath.Glob(ts.MkAbs(args[1]))
		if err == nil && len(found) == 0 {
			err = errors.New("no such file")
		}
		if err == nil {
			ts.Setenv(args[0], found[0])
		}
		return err
	}))
}

// stall lets the engine of a run that executes here answer nothing to its end from the beginning of the load on, so
// that the load lasts until somebody ends it: stall PATTERN
func stall(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: stall PATTERN")
	}
	var dir string
	ts.Check(eventually.Look(context.Background(), "the load of "+args[0], func() error {
		found, err := filepath.Glob(ts.MkAbs(args[0]))
		if err != nil {
			return err
		}
		if len(found) != 1 {
			return fmt.Errorf("runs %q, want one", found)
		}
		dir = found[0]
		events, err := os.ReadFile(filepath.Join(dir, contract.FileEvents))
		if err == nil && !bytes.Contains(events, []byte(`"stage_started"`)) {
			err = fmt.Errorf("no stage has started: %s", events)
		}
		return err
	}))
	var engine struct{ URL string }
	ts.Check(step.ReadJSON(filepath.Join(dir, contract.FileEndpoint), &engine))
	answer, err := http.Post(engine.URL+"/sim/faults", "application/json", strings.NewReader(`{"kind":"stall"}`))
	ts.Check(err)
	ts.Check(answer.Body.Close())
}

// webpage serves a page that is no API and sets a variable to its address: webpage VARIABLE
func webpage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: webpage VARIABLE")
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<!doctype html><title>Welcome</title>")
	}))
	ts.Defer(srv.Close)
	ts.Setenv(args[0], srv.URL)
}

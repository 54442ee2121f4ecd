package step

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

func TestCode(t *testing.T) {
	for _, row := range []struct {
		name string
		err  error
		want int
	}{
		{"no error is a pass", nil, contract.ExitPass},
		{"an error without a code has failed", errors.New("x"), contract.ExitFail},
		{"a code survives wrapping", fmt.Errorf("doing: %w", Exit(contract.ExitUnhealthy, errors.New("x"))),
			contract.ExitUnhealthy},
		{"a cancelled context was interrupted", fmt.Errorf("doing: %w", context.Canceled), contract.ExitInterrupted},
		{"a code beats the cancelled context below it", Exit(contract.ExitUsage, context.Canceled), contract.ExitUsage},
	} {
		if got := Code(row.err); got != row.want {
			t.Errorf("%s: got %d, want %d", row.name, got, row.want)
		}
	}
}

func TestRunSaysOneSentence(t *testing.T) {
	for _, row := range []struct {
		name, want string
		err        error
		code       int
	}{
		{"nothing on success", "", nil, contract.ExitPass},
		{"help is no failure", "", flag.ErrHelp, contract.ExitPass},
		{"the task's name, then the error", "smoketest: checking: no\n",
			Exit(contract.ExitUnhealthy, errors.New("checking: no")), contract.ExitUnhealthy},
	} {
		var errs bytes.Buffer
		task := func(context.Context, Streams, []string) error { return row.err }
		if code := Run(t.Context(), "smoketest", task, Streams{Err: &errs}, nil); code != row.code ||
			errs.String() != row.want {
			t.Errorf("%s: exit %d, said %q", row.name, code, errs.String())
		}
	}
}

func TestAPlanThatIsDeletedMeanwhileIsTakenFromTheRunDirectory(t *testing.T) {
	plan := &runplan.RunPlan{APIVersion: runplan.APIVersion, Kind: runplan.Kind, Name: "p"}
	if err := runplan.Identify(plan); err != nil {
		t.Fatal(err)
	}
	o := Options{PlanDir: t.TempDir(), RunDir: t.TempDir()}
	args := []string{"--plan-dir=" + o.PlanDir, "--run-dir=" + o.RunDir, "--run-id=r"}
	begin := func() (string, error) {
		fs := flag.NewFlagSet("x", flag.ContinueOnError)
		o.Register(fs)
		var errs bytes.Buffer
		_, err := o.Begin(fs, args, &errs)
		return errs.String(), err
	}
	var lost *PlanError
	if _, err := begin(); !errors.As(err, &lost) || Code(err) != contract.ExitUsage {
		t.Errorf("no plan at all: %v", err)
	}
	if err := KeepPlan(o.RunDir, plan); err != nil {
		t.Fatal(err)
	}
	if said, err := begin(); err != nil || !strings.Contains(said, "continuing with the copy in the run directory") {
		t.Errorf("the kept plan: %v; said %q", err, said)
	}
	if err := os.WriteFile(filepath.Join(o.RunDir, contract.FilePlan), []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := begin(); !errors.As(err, &lost) {
		t.Errorf("a damaged copy: %v", err)
	}
}

func TestBeginDemandsTheCommonFlags(t *testing.T) {
	for _, row := range []struct {
		name, args, want string
	}{
		{"an unknown flag", "--nonsense=1", "flag provided but not defined: -nonsense"},
		{"a missing plan", "--run-dir=d --run-id=r", "--plan-dir is required"},
		{"a missing run id", "--run-dir=d --plan-dir=d", "--run-id is required"},
		{"an argument", "--run-dir=d --plan-dir=d --run-id=r more", `unexpected "more"`},
		{"an attempt of 0", "--run-dir=d --plan-dir=d --run-id=r --attempt=0", "--attempt is 0"},
		{"a folder without a plan", "--run-dir=d --plan-dir=/nowhere --run-id=r",
			"neither plan.json nor plan.json.gz is there"},
	} {
		var o Options
		fs := flag.NewFlagSet("task", flag.ContinueOnError)
		o.Register(fs)
		_, err := o.Begin(fs, strings.Fields(row.args), new(bytes.Buffer))
		if Code(err) != contract.ExitUsage || !strings.Contains(fmt.Sprint(err), row.want) {
			t.Errorf("%s: %v (exit %d), want %q in it", row.name, err, Code(err), row.want)
		}
	}
}

func TestEventsWrittenSideBySideStayWhole(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := AppendEvent(dir,
				Event{Source: "test", Event: fmt.Sprint(i), Message: strings.Repeat("x", 4000)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	f, err := os.Open(filepath.Join(dir, contract.FileEvents))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Time.IsZero() {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		seen[e.Event] = true
	}
	if len(seen) != 20 {
		t.Errorf("%d of 20 events are there", len(seen))
	}
}

func TestAPIKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"none", nil, ""},
		{"the variable wins", map[string]string{EnvAPIKey: "direct", EnvAPIKeyFile: file}, "direct"},
		{"a file, its line end dropped", map[string]string{EnvAPIKeyFile: file}, "from-file"},
	} {
		got, err := APIKey(func(k string) string { return row.env[k] })
		if err != nil || got != row.want {
			t.Errorf("%s: %q %v", row.name, got, err)
		}
	}
	two := filepath.Join(t.TempDir(), "two")
	if err := os.WriteFile(two, []byte("one\nanother\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a file that is not there": "/nowhere/key", "a file of two lines": two,
		"an empty file": os.DevNull} {
		if _, err := APIKey(func(k string) string { return map[string]string{EnvAPIKeyFile: path}[k] }); Code(
			err) != contract.ExitUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := Redact("key direct, again direct", "direct", ""); got != "key [secret], again [secret]" {
		t.Error(got)
	}
}

package app

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan/contract"
)

// quietTerminal is a terminal at which nobody types.
type quietTerminal struct{ asked, over chan struct{} }

func (q quietTerminal) Read([]byte) (int, error) {
	close(q.asked)
	<-q.over
	return 0, io.EOF
}

// TestWaitingForATerminalCanBeInterrupted: whoever forgot to name a file sees nothing happen.
func TestWaitingForATerminalCanBeInterrupted(t *testing.T) {
	in := quietTerminal{make(chan struct{}), make(chan struct{})}
	defer close(in.over)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-in.asked
		cancel()
	}()
	var out, err strings.Builder
	code := Main(ctx, Streams{In: in, Out: &out, Err: &err}, []string{"bflow", "validate", "-"})
	if want := "bflow: reading files: interrupted\n"; code != contract.ExitInterrupted || err.String() != want {
		t.Errorf("exit code %d, and it says %q; want %d and %q", code, err.String(), contract.ExitInterrupted, want)
	}
}

// TestAQuestionCanBeInterrupted: nothing is deleted by somebody who answers with a signal.
func TestAQuestionCanBeInterrupted(t *testing.T) {
	in := quietTerminal{make(chan struct{}), make(chan struct{})}
	defer close(in.over)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-in.asked
		cancel()
	}()
	if questions(ctx, in, io.Discard)("Delete that too?") {
		t.Error("an interruption was taken for a yes")
	}
	for text, want := range map[string]bool{"y\n": true, "Yes\n": true, "\n": false, "": false, "no\n": false} {
		if got := questions(t.Context(), strings.NewReader(text), io.Discard)("Delete that too?"); got != want {
			t.Errorf("the answer %q is taken for %t", text, got)
		}
	}
}

const onePoint = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: short}
spec:
  model: {name: acme/tiny}
  deployment_profile: sim
  load: {data: {input: 16, output: 4}, stages: [{rate: 10, duration: 1s}]}
`

// TestAnExperimentOfWhichNothingBeganIsNotGreen: a signal may come before the first run is made, and between two of
// them.
func TestAnExperimentOfWhichNothingBeganIsNotGreen(t *testing.T) {
	for _, row := range []struct {
		name, set, says string
	}{
		{"one run", "load.stages[0].rate=10", "interrupted before the run began"},
		{"a matrix", "model.name=[acme/tiny, acme/small]", "interrupted before 2 of 2 runs began"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "short.yaml")
			if err := os.WriteFile(file, []byte(onePoint), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			errors := filepath.Join(dir, "errors") // which two goroutines write
			to, err := os.Create(errors)
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close()
			code := Main(ctx, Streams{In: strings.NewReader(""), Out: io.Discard, Err: to},
				[]string{"bflow", "run", "--local", "--plain", "--runs-dir", filepath.Join(dir, "runs"), "--set", row.set, file})
			said, err := os.ReadFile(errors)
			if err != nil {
				t.Fatal(err)
			}
			if code != contract.ExitInterrupted || !strings.Contains(string(said), row.says) {
				t.Errorf("exit code %d, and it says %q; want %d and %q", code, said, contract.ExitInterrupted, row.says)
			}
		})
	}
}

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/report/reporttest"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
)

// dummies are a kind of run with the one run "dummy-1", whose results lie in a folder.
type dummies struct {
	results string
	calls   *[]string
}

func (d dummies) Find(_ context.Context, name string) (runs.Run, error) {
	if !strings.HasPrefix("dummy-1", name) {
		return nil, &runs.NotFoundError{Name: name}
	}
	return dummy(d), nil
}

func (d dummies) List(context.Context, bool) ([]runs.Status, error) {
	row := runs.Status{Model: "acme/dummy"}
	row.RunID, row.State = "dummy-1", "Running"
	return []runs.Status{row}, nil
}

func (d dummies) NamesOf(context.Context) []string { return []string{"dummy-1"} }

// dummy is its run.
type dummy dummies

func (d dummy) call(format string, args ...any) {
	*d.calls = append(*d.calls, fmt.Sprintf(format, args...))
}

func (d dummy) Names() []string { return []string{"dummy-1"} }

func (d dummy) Status(context.Context) (runs.View, error) {
	d.call("status")
	return runs.View{Value: "fine", Table: func(w io.Writer, _ screen.Screen) error {
		_, err := fmt.Fprintln(w, "all is fine")
		return err
	}}, nil
}

func (d dummy) Follow(context.Context, runs.Console) (int, error) {
	d.call("follow")
	return contract.ExitBreach, nil
}

func (d dummy) Logs(_ context.Context, on runs.Console, o runs.LogOptions) error {
	d.call("logs %+v", o)
	_, err := fmt.Fprintln(on.Out, "a line")
	return err
}

func (d dummy) Cancel(_ context.Context, force bool) (string, error) {
	d.call("cancel %t", force)
	return "it is being cancelled", nil
}

func (d dummy) Rerun(_ context.Context, _ runs.Console, o runs.RerunOptions) (int, error) {
	d.call("rerun %t %t", o.Failed, o.Follow)
	return contract.ExitInvalid, nil
}

func (d dummy) Delete(_ context.Context, _ runs.Console, o runs.DeleteOptions) error {
	d.call("delete %+v", o)
	return nil
}

func (d dummy) Results(context.Context, runs.Console) (runs.Results, error) {
	d.call("results")
	return runs.Results{Dirs: []string{d.results}}, nil
}

// TestAKindIsOneFile: a new kind of run is this file and the one line that registers it, and every verb takes its runs.
func TestAKindIsOneFile(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("BFLOW_RUNS_DIR", t.TempDir())
	results := reporttest.Write(t, reporttest.Run{})
	for _, row := range []struct {
		args []string
		code int
		says string
		call string // of the kind; "" = none
	}{
		{[]string{"list"}, 0, "acme/dummy", ""},
		{[]string{"status", "dummy"}, 0, "all is fine", "status"},
		{[]string{"status", "dummy-1", "-o", "json"}, 0, `"fine"`, "status"},
		{[]string{"watch", "dummy-1"}, contract.ExitBreach, "", "follow"},
		{[]string{"logs", "dummy-1", "--task", "collect"}, 0, "a line", "logs {Task:collect Engine:false Follow:false}"},
		{[]string{"cancel", "dum"}, contract.ExitUsage, `"dum" is the start of a name; give the full name, dummy-1`, ""},
		{[]string{"cancel", "dum", "--yes", "--force"}, 0, "it is being cancelled", "cancel true"},
		{[]string{"rerun", "dummy-1", "--failed"}, contract.ExitInvalid, "", "rerun true false"},
		{[]string{"resume", "dummy-1"}, contract.ExitUsage, "resuming run dummy-1: a run of this kind cannot be resumed", ""},
		{[]string{"report", "dummy-1"}, 0, filepath.Join(results, contract.FileReportHTML), "results"},
		{[]string{"export", "dummy-1", "--format", "csv"}, 0, "run,plan_hash,", "results"},
		{[]string{"delete", "dummy-1", "--keep-results"}, 0, "deleted dummy-1", "delete {Force:false KeepResults:true}"},
		{[]string{"status", "d", completionFlag}, 0, "dummy-1", ""},
		{[]string{"status", "another"}, contract.ExitUsage, "no such run among the 0", ""},
		{[]string{"status", "dummy-1", "--cluster"}, contract.ExitUsage, "reading the kubeconfig: ", ""},
	} {
		t.Run(strings.Join(row.args, " "), func(t *testing.T) {
			var out strings.Builder
			var calls []string
			s := Streams{In: strings.NewReader(""), Out: &out, Err: &out,
				kinds: func(r *runs.Registry) { r.Local = append(r.Local, dummies{results, &calls}) }}
			code := Main(t.Context(), s, append([]string{"bflow"}, row.args...))
			if code != row.code || !strings.Contains(out.String(), row.says) {
				t.Errorf("exit code %d, want %d; it says %q and not %q", code, row.code, out.String(), row.says)
			}
			if want := slices.DeleteFunc([]string{row.call},
				func(s string) bool { return s == "" }); !slices.Equal(calls, want) {
				t.Errorf("it was called %q, want %q", calls, want)
			}
		})
	}
}

// unlisted is a kind that cannot list its runs.
type unlisted struct{ dummies }

func (unlisted) List(context.Context, bool) ([]runs.Status, error) {
	return nil, errors.New("the API server does not answer")
}

// TestAListSaysWhatItLacks: the runs of one kind may be listed where those of another are not.
func TestAListSaysWhatItLacks(t *testing.T) {
	t.Setenv("BFLOW_RUNS_DIR", t.TempDir())
	for want, kinds := range map[string][]runs.Kind{
		"warning: only runs of this machine are listed: ":    {unlisted{}, dummies{}},
		"warning: some runs of the cluster are not listed: ": {dummies{}, unlisted{}},
	} {
		var out strings.Builder
		s := Streams{In: strings.NewReader(""), Out: &out, Err: &out,
			kinds: func(r *runs.Registry) { r.Cluster, r.ClusterKnown = kinds, true }}
		if code := Main(t.Context(), s, []string{"bflow", "list"}); code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("exit code %d; it says %q and not %q", code, out.String(), want)
		}
	}
}

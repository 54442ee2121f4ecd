package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"bflow.dev/bflow/internal/screen"
	executor "bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
)

// imported is a run that another tool has measured: it has a report and no journal.
type imported struct {
	run
	status executor.Status
}

var _ runs.Run = (*imported)(nil)

// Status says where it came from, and what was found.
func (i *imported) Status(context.Context) (runs.View, error) {
	return runs.ViewOf(runs.Status{Status: i.status}), nil
}

// Follow says how it ended.
func (i *imported) Follow(_ context.Context, on runs.Console) (int, error) {
	fmt.Fprintf(on.Err, "%s: %s: %s\n", i.status.RunID, i.status.State, i.status.Message)
	return i.status.ExitCode, nil
}

// Logs says that there are none.
func (i *imported) Logs(_ context.Context, on runs.Console, _ runs.LogOptions) error {
	fmt.Fprintf(on.Err, "%s has no logs: it was %s\n", i.status.RunID, i.status.Message)
	return nil
}

// Cancel refuses: nothing of it goes on.
func (i *imported) Cancel(context.Context, bool) (string, error) {
	return "", fmt.Errorf("cancelling run %q: it has ended; it was %s", i.status.RunID, i.status.Message)
}

// Delete removes its folder: no process belongs to it.
func (i *imported) Delete(context.Context, runs.Console, runs.DeleteOptions) error {
	if err := os.RemoveAll(i.dir); err != nil {
		return fmt.Errorf("deleting run %q: %w", i.status.RunID, err)
	}
	return nil
}

// importedRuns are the imported runs under root.
func importedRuns(root string) []executor.Status {
	names, err := Names(root)
	if err != nil {
		return nil // executor.List has said so
	}
	var out []executor.Status
	for _, name := range names {
		if status, ok := importedStatus(filepath.Join(root, name)); ok {
			out = append(out, status)
		}
	}
	return out
}

// importedStatus is that of the imported run in a folder; ok is false where there is none.
func importedStatus(dir string) (status executor.Status, ok bool) {
	r, err := report.Read(dir)
	if err != nil || r.Plan == nil || r.Plan.Labels["imported_from"] == "" {
		return status, false
	}
	verdict := executor.Results{contract.ResultVerdict: {Type: v1.ParamTypeString, StringVal: r.Verdict.Verdict}}
	return executor.Status{RunID: filepath.Base(dir), RunDir: dir, Attempt: 1, State: executor.Succeeded,
		ExitCode: r.Verdict.ExitCode,
		Message: screen.Plain(strings.TrimSpace("imported from " + r.Plan.Labels["imported_from"] + " " +
			r.Plan.Labels["imported_version"])), // the file may come from anywhere
		Started: r.Run.Start, Finished: r.Run.End,
		Tasks: []executor.Task{{Name: "import", State: executor.Succeeded, Started: r.Run.Start, Finished: r.Run.End,
			Results: verdict}}}, true
}

package mlflow

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bflow.dev/bflow/tasks/checksums"
	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/durable"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/report/reporttest"
	"bflow.dev/bflow/tasks/step"
)

// killedRun is what a load generator leaves that is killed in its third stage.
func killedRun(t *testing.T) string {
	t.Helper()
	dir := reporttest.Write(t, reporttest.Run{Stages: 2, Length: 2 * time.Second})
	path := filepath.Join(report.MeasurementDir(dir, 0), contract.FileLoadGen)
	var l report.LoadGen
	if err := step.ReadJSON(path, &l); err != nil {
		t.Fatal(err)
	}
	l.Interrupted, l.MemoryLimit = false, 512<<20
	last := report.Progress{Stage: 2, Stages: 5, Name: "rate-40", ElapsedS: 1}
	for path, v := range map[string]any{path: l, filepath.Join(report.MeasurementDir(dir, 0), report.FileProgress): last} {
		if err := durable.WriteJSON(path, v); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestALoadThatWasKilledIsReportedAndPushedAtTheEnd(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, strings.TrimPrefix(r.URL.Path, api))
		http.Error(w, `{"error_code":"PERMISSION_DENIED","message":"not you"}`, http.StatusForbidden)
	}))
	defer srv.Close()
	for _, row := range []struct {
		name, uri, loads string
		report, push     bool
	}{
		{"with a tracking server", srv.URL, contract.ReasonStepOOM, true, true},
		{"without one", "", contract.ReasonStepOOM, true, false},
		{"it was cancelled, so it is no part of the results", srv.URL, "TaskRunCancelled", false, false},
		{"the controller has ended it, and knows no reasons", srv.URL, "", false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			asked = nil
			dir := killedRun(t)
			code, said := pushTo(t, dir, row.uri, "finalize", "--patience=0s", "--status=Failed", "--loads="+row.loads)
			if code != contract.ExitPass {
				t.Errorf("exit code %d: %s", code, said)
			}
			if pushed := slices.Contains(asked, "experiments/get-by-name"); pushed != row.push || pushed != strings.Contains(said, "the results are safe in") {
				t.Errorf("pushed: %v (%q), want %v: %s", pushed, asked, row.push, said)
			}
			r, err := report.Read(dir)
			if !row.report {
				if err == nil {
					t.Error("there is a report")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			checkPartial(t, dir, r, said)
		})
	}
}

// checkPartial wants the stages that were finished, and the reason why there are no more.
func checkPartial(t *testing.T, dir string, r *report.Report, said string) {
	t.Helper()
	const why = `load-gen was killed: out of memory (limit 512Mi) in stage "rate-40" after 1 s`
	m := r.Measurements[0]
	if r.Run.ID != "p-1" || r.Verdict.ExitCode != contract.ExitFail || !strings.Contains(strings.Join(r.Verdict.Reasons, "\n"), why) || !strings.Contains(said, why) {
		t.Errorf("run %+v, verdict %+v: %s", r.Run, r.Verdict, said)
	}
	if len(m.Pooled.Stages) != 2 || m.Pooled.Stages[1].Planned.Name != "rate-16" || m.Pooled.Stages[1].Counts.Total == 0 || m.Complete {
		t.Errorf("stages %+v", m.Pooled.Stages)
	}
	if v, err := report.ReadVerdict(dir); err != nil || v.ExitCode != contract.ExitFail {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := os.Stat(filepath.Join(dir, contract.FileReportHTML)); err != nil {
		t.Error(err)
	}
	if err := checksums.Verify(dir, nil); err != nil {
		t.Error(err)
	}
}

package mlflow

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/reporttest"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan/contract"
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
			if pushed := slices.Contains(asked, "experiments/get-by-name"); pushed != row.push ||
				pushed != strings.Contains(said, "the results are safe in") {
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
	if r.Run.ID != "p-1" || r.Verdict.ExitCode != contract.ExitFail ||
		!strings.Contains(strings.Join(r.Verdict.Reasons, "\n"), why) || !strings.Contains(said, why) {
		t.Errorf("run %+v, verdict %+v: %s", r.Run, r.Verdict, said)
	}
	if len(m.Pooled.Stages) != 2 || m.Pooled.Stages[1].Planned.Name != "rate-16" ||
		m.Pooled.Stages[1].Counts.Total == 0 || m.Complete {
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

// TestHalfALineThatAKillLeavesIsSaidAndEveryWholeOneIsPushed: stages are appended while the load runs.
func TestHalfALineThatAKillLeavesIsSaidAndEveryWholeOneIsPushed(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error_code":"PERMISSION_DENIED","message":"not you"}`, http.StatusForbidden)
	}))
	defer srv.Close()
	half := func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()-20)
	}
	for _, row := range []struct {
		name, file, want string
		stages           int
		ruin             func(path string) error
	}{
		{"half a line of stages", contract.FileStages,
			"measurements/0/stages.jsonl: line 2 is not whole, so that stage is missing", 1, half},
		{"a line of zeros, after a loss of power", contract.FileStages, "line 3 is not whole", 2, func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.Write(make([]byte, 100))
			return errors.Join(err, f.Close())
		}},
		{"rows that are cut off", contract.FileRequests,
			"measurements/0/requests.jsonl.gz: its rows cannot be read to their end", 2, half},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := killedRun(t)
			if err := row.ruin(filepath.Join(report.MeasurementDir(dir, 0), row.file)); err != nil {
				t.Fatal(err)
			}
			_, said := pushTo(t, dir, srv.URL, "finalize", "--patience=0s", "--status=Failed", "--loads="+contract.ReasonStepOOM)
			if !strings.Contains(said, row.want) {
				t.Errorf("said %q, want %q in it", said, row.want)
			}
			var r Replay
			if err := step.ReadJSON(filepath.Join(dir, ReplayFile), &r); err != nil {
				t.Fatal(err)
			}
			steps := map[int64]bool{}
			for _, p := range r.Points {
				steps[p.Step] = true
			}
			if len(r.Missing) != 1 || !slices.ContainsFunc(r.Tags,
				func(p Pair) bool { return p.Key == MissingTag && strings.Contains(p.Value, row.want) }) {
				t.Errorf("missing %q, tags %v", r.Missing, r.Tags)
			}
			if len(steps) < row.stages {
				t.Errorf("points of steps %v, want those of %d stages", steps, row.stages)
			}
		})
	}
}

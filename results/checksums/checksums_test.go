package checksums_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"

	"github.com/google/go-cmp/cmp"
)

// stays and changes are files of a run that has ended.
var (
	stays = []string{"plan.json", "smoketest.json", "report.json", "report.html", "verdict.json", "summary.csv",
		"benchmark_report_v0.2.yaml",
		"measurements/0/requests.jsonl.gz", "measurements/0/attempt-1/stages.jsonl", "metrics/queue.json",
		"source/result.json",
		"deployment/endpoint.json", "deployment/metrics-last.prom", "measurements/0/benchmark_report_v0.2,_stage_0.yaml"}
	changes = []string{"events.jsonl", "copy.json", "local/journal.jsonl", "mlflow/replay.json",
		"deployment/engine.log", "deployment/logs/a.log",
		"deployment/processes.json", "measurements/0/progress.json", "measurements/0/.rows.half", "notes.txt"}
)

// ended makes a run that has ended.
func ended(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	for _, path := range append(append([]string{}, stays...), changes...) {
		put(t, dir, path, "as it was")
	}
	if err := checksums.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func put(t *testing.T, dir, path, text string) {
	t.Helper()
	path = filepath.Join(dir, filepath.FromSlash(path))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestAFileThatDiffersIsNamed(t *testing.T) {
	for _, path := range stays {
		for _, row := range []struct {
			name string
			harm func(dir string)
			want string
		}{
			{"another byte", func(dir string) { put(t, dir, path, "as it wos") },
				"does not hold what it held when the run ended"},
			{"half of it", func(dir string) { put(t, dir, path, "as") },
				"has 2 bytes and not the 9 that it had when the run ended"},
			{"none of it", func(dir string) { remove(t, dir, path) }, "is missing"},
			{"a link in its place", func(dir string) { remove(t, dir, path); link(t, dir, path) }, "is missing"},
		} {
			dir := ended(t)
			row.harm(dir)
			err := checksums.Verify(dir, nil)
			var damaged *checksums.DamagedError
			if !errors.As(err, &damaged) || damaged.Path != path || damaged.Problem != row.want || damaged.Others != 0 {
				t.Errorf("%s of %s: %v", row.name, path, err)
			}
			if step.Code(err) != contract.ExitUsage || strings.Count(err.Error(), "\n") > 0 ||
				!strings.Contains(err.Error(), "bflow rerun") {
				t.Errorf("%s of %s: exit code %d, %q", row.name, path, step.Code(err), err)
			}
			if err := checksums.Verify(dir, func(other string) bool { return other != path }); err != nil {
				t.Errorf("%s of %s, which nobody wants: %v", row.name, path, err)
			}
		}
	}
}

func remove(t *testing.T, dir, path string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, path)); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, dir, path string) {
	t.Helper()
	if err := os.Symlink("/nowhere", filepath.Join(dir, path)); err != nil {
		t.Fatal(err)
	}
}

func TestWhatMayChangeIsNotChecked(t *testing.T) {
	dir := ended(t)
	for _, path := range changes {
		put(t, dir, path, "changed")
		remove(t, dir, path)
	}
	put(t, dir, "measurements/1/new", "")
	if err := checksums.Verify(dir, nil); err != nil {
		t.Error(err)
	}
}

func TestSeveralDamagedFilesAreOneSentence(t *testing.T) {
	dir := ended(t)
	remove(t, dir, "report.json")
	remove(t, dir, "plan.json")
	if err := checksums.Verify(dir, nil); err == nil ||
		!strings.Contains(err.Error(), `run "run": "plan.json" is missing (2 files are damaged in all)`) {
		t.Error(err)
	}
}

func TestADamagedListIsNamed(t *testing.T) {
	for _, text := range []string{"", `{"schema":`, `{"schema":"bflow.checksums/9"}`, `{}`} {
		dir := ended(t)
		put(t, dir, contract.FileChecksums, text)
		if err := checksums.Verify(dir, nil); err == nil || step.Code(err) != contract.ExitUsage ||
			!strings.Contains(err.Error(), contract.FileChecksums) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAListNeverLeadsOutOfTheRun(t *testing.T) {
	dir := ended(t)
	put(t, filepath.Dir(dir), "outside", "x")
	put(t, dir, contract.FileChecksums, `{"schema":"bflow.checksums/1","files":[{"path":"../outside","size":1,`+
		`"sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}]}`)
	if err := checksums.Verify(dir, nil); err == nil {
		t.Error("it was read")
	}
}

func TestARunWithoutAListPasses(t *testing.T) {
	dir := ended(t)
	for range 2 {
		if err := checksums.Retract(dir); err != nil {
			t.Fatal(err)
		}
	}
	remove(t, dir, "plan.json")
	if err := checksums.Verify(dir, nil); err != nil {
		t.Error(err)
	}
}

func TestAListIsTheSameForTheSameFiles(t *testing.T) {
	var lists []string
	for range 2 {
		data, err := os.ReadFile(filepath.Join(ended(t), contract.FileChecksums))
		if err != nil {
			t.Fatal(err)
		}
		lists = append(lists, string(data))
	}
	if diff := cmp.Diff(lists[0], lists[1]); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsKeptOfARunIsHeldAgainstItsLists(t *testing.T) {
	const rows, old = "measurements/1/requests.jsonl.gz", "measurements/1/attempt-1/requests.jsonl.gz"
	for _, row := range []struct {
		name    string
		ended   bool // the run has come to its report
		harm    func(dir string)
		damaged string // what is wrong with measurement 1
		fails   string
	}{
		{name: "nothing is wrong"},
		{name: "nothing is wrong, and the run has ended", ended: true},
		{name: "a byte of a measurement", harm: func(dir string) { put(t, dir, rows, "as it wos") },
			damaged: rows + " does not hold what it held when its measurement ended"},
		{name: "a byte of a measurement, and the run has ended", ended: true,
			harm:    func(dir string) { put(t, dir, rows, "as it wos") },
			damaged: rows + " does not hold what it held when the run ended"},
		{name: "a file of a measurement is gone", harm: func(dir string) { remove(t, dir, rows) },
			damaged: rows + " is missing"},
		{name: "the list of a measurement", harm: func(dir string) { put(t, dir, "measurements/1/checksums.json", "{}") },
			damaged: `measurements/1/checksums.json has schema "" and not "bflow.checksums/1"`},
		{name: "a measurement that is under way has no list",
			harm: func(dir string) { remove(t, dir, "measurements/1/checksums.json"); put(t, dir, rows, "more") }},
		{name: "what is made anew of the report",
			harm: func(dir string) { put(t, dir, "measurements/1/benchmark_report_v0.2,_stage_0.yaml", "new") }},
		{name: "an earlier attempt, which nobody goes on with", harm: func(dir string) { put(t, dir, old, "other") }},
		{name: "the plan of a run that has ended", ended: true,
			harm: func(dir string) { put(t, dir, "plan.json", "other") }, fails: `"plan.json" has 5 bytes`},
		{name: "the list of a run that has ended",
			ended: true, harm: func(dir string) { put(t, dir, contract.FileChecksums, "{") },
			fails: `"checksums.json" cannot be read`},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			for _, path := range []string{"plan.json", "measurements/0/requests.jsonl.gz",
				"measurements/0/progress.json", rows, old} {
				put(t, dir, path, "as it was")
			}
			for n := range 2 {
				if err := checksums.WriteMeasurement(dir, n); err != nil {
					t.Fatal(err)
				}
			}
			if row.ended {
				if err := checksums.Write(t.Context(), dir); err != nil {
					t.Fatal(err)
				}
			}
			if row.harm != nil {
				row.harm(dir)
			}
			damaged, err := checksums.VerifyKept(dir, 2)
			if row.fails != "" {
				if err == nil || step.Code(err) != contract.ExitUsage || !strings.Contains(err.Error(), row.fails) {
					t.Errorf("%v, want %s", err, row.fails)
				}
				return
			}
			if err != nil {
				t.Error(err)
			}
			got := ""
			if d := damaged[1]; d != nil {
				got = d.Path + " " + d.Problem
			}
			if got != row.damaged || damaged[0] != nil {
				t.Errorf("damaged: %v, want %q", damaged, row.damaged)
			}
		})
	}
}

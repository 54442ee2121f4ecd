package collect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/reporttest"
	"bflow.dev/bflow/report/write"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/collect"
	"bflow.dev/bflow/tasks/step"
)

// run runs the task on a run directory and returns its exit code, its report and what it said.
func run(t *testing.T, dir string) (int, *report.Report, string) {
	t.Helper()
	var errs bytes.Buffer
	s := step.Streams{Out: &bytes.Buffer{}, Err: &errs, Env: func(string) string { return "" }}
	code := step.Run(context.Background(), "collect", collect.Run, s, []string{
		"--plan-dir=" + dir, "--run-dir=" + dir, "--run-id=ladder-1", "--attempt=2",
		"--endpoint=http://user:secret@127.0.0.1:8000",
	})
	r, err := report.Read(dir)
	if err != nil {
		t.Fatalf("%v; collect said %s", err, errs.String())
	}
	return code, r, errs.String()
}

func TestCollectWritesEveryFileOfTheRunDirectory(t *testing.T) {
	dir := reporttest.Write(t, reporttest.Run{})
	code, r, said := run(t, dir)
	if code != 0 || r.Verdict.Verdict != "pass" || r.Verdict.ExitCode != 0 {
		t.Fatalf("exit code %d, verdict %+v; %s", code, r.Verdict, said)
	}
	for _, name := range []string{contract.FilePlan, contract.FileReport, contract.FileReportV02, contract.FileSummary,
		contract.FileReportHTML,
		contract.FileVerdict, "measurements/0/benchmark_report_v0.2,_stage_1.yaml",
		"measurements/0/benchmark_report_v0.2,_stage_4.yaml"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r.Run.ID != "ladder-1" || r.Run.Attempt != 2 || r.Environment.Load == nil ||
		r.Environment.Engine.Version != "0.1.0" {
		t.Errorf("run %+v, environment %+v", r.Run, r.Environment)
	}
	if r.Run.Endpoint != "http://127.0.0.1:8000" {
		t.Errorf("endpoint %q holds credentials", r.Run.Endpoint)
	}
}

func TestCollectKeepsThePlan(t *testing.T) {
	dir := reporttest.Write(t, reporttest.Run{NoResult: true})
	plans := t.TempDir()
	if err := os.Rename(filepath.Join(dir, contract.FilePlan), filepath.Join(plans, contract.FilePlan)); err != nil {
		t.Fatal(err)
	}
	s := step.Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Env: func(string) string { return "" }}
	if code := step.Run(context.Background(), "collect", collect.Run, s,
		[]string{"--plan-dir=" + plans, "--run-dir=" + dir, "--run-id=x"}); code != 0 {
		t.Fatal(code)
	}
	if _, err := runplan.Read(dir); err != nil {
		t.Error(err)
	}
}

func TestCollectTwiceChangesNothing(t *testing.T) {
	dir := reporttest.Write(t, reporttest.Run{Samples: 2, Length: 3 * time.Second})
	run(t, dir)
	before := contents(t, dir)
	run(t, dir)
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Errorf("the second time: %s", diff)
	}
	r, err := assemble.Report(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := write.All(t.Context(), dir, r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Errorf("made again from the files alone: %s", diff)
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{contract.FileReport, contract.FileReportV02, contract.FileSummary,
		contract.FileReportHTML, contract.FileVerdict} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(data)
	}
	return out
}

func TestABadMeasurementIsDataAndNoCrash(t *testing.T) {
	limited := report.Check{Name: "cpu_share", Value: 0.95, Limit: 0.8, Reason: "client_limited"}
	tests := []struct {
		name   string
		run    reporttest.Run
		word   string
		exit   int
		reason string
	}{
		{name: "load-gen left nothing", run: reporttest.Run{NoResult: true}, word: "fail", exit: 1,
			reason: `measurement 0 ("load"): load-gen left no result`},
		{name: "load-gen was interrupted", run: reporttest.Run{Stages: 2}, word: "fail", exit: 1,
			reason: "it was interrupted"},
		{name: "every request failed", run: reporttest.Run{Failing: 1}, word: "fail", exit: 1,
			reason: "no request succeeded"},
		{name: "some requests failed", run: reporttest.Run{Failing: 0.05}, word: "fail", exit: 1,
			reason: "of the requests failed"},
		{name: "the client was too slow", run: reporttest.Run{Checks: []report.Check{limited}}, word: "invalid",
			exit: 0, reason: "client_limited"},
		{name: "the client was too slow and that fails the run",
			run: reporttest.Run{Checks: []report.Check{limited}, OnInvalid: "fail"}, word: "invalid", exit: 4},
		{name: "the engine restarted", run: reporttest.Run{Restart: true}, word: "invalid", exit: 0,
			reason: "server_changed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.run.Length = 4 * time.Second
			dir := reporttest.Write(t, tt.run)
			code, r, _ := run(t, dir)
			if code != 0 {
				t.Errorf("collect exits %d, want 0", code)
			}
			if r.Verdict.Verdict != tt.word || r.Verdict.ExitCode != tt.exit ||
				!strings.Contains(strings.Join(r.Verdict.Reasons, "\n"), tt.reason) {
				t.Errorf("verdict %s, exit code %d, reasons %q", r.Verdict.Verdict, r.Verdict.ExitCode, r.Verdict.Reasons)
			}
			v, err := report.ReadVerdict(dir)
			if err != nil || v.ExitCode != tt.exit {
				t.Errorf("verdict.json: %+v, %v", v, err)
			}
			contents(t, dir)
		})
	}
}

func TestAnUnhealthyServerIsNamed(t *testing.T) {
	dir := reporttest.Write(t, reporttest.Run{NoResult: true})
	smoke := `{"passed":false,"checks":[{"name":"served model","verdict":"fail","evidence":"it serves \"b\""}]}`
	if err := os.WriteFile(filepath.Join(dir, contract.FileSmoketest), []byte(smoke), 0o644); err != nil {
		t.Fatal(err)
	}
	_, r, _ := run(t, dir)
	if r.Verdict.ExitCode != contract.ExitUnhealthy || !strings.Contains(r.Verdict.Reasons[0], `it serves "b"`) {
		t.Errorf("verdict %+v", r.Verdict)
	}
}

func TestReportJSONHoldsNoForeignNumbers(t *testing.T) {
	dir := reporttest.Write(t, reporttest.Run{Failing: 1, Length: 2 * time.Second})
	run(t, dir)
	data, err := os.ReadFile(filepath.Join(dir, contract.FileReport))
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(data) || bytes.Contains(data, []byte("NaN")) {
		t.Error("report.json is no JSON")
	}
}

func TestUsageErrorsExitTwo(t *testing.T) {
	for name, args := range map[string][]string{
		"an unknown flag":     {"--speed=1"},
		"no run directory":    {"--plan-dir=x", "--run-id=x"},
		"a folder, no plan":   {"--plan-dir=" + t.TempDir(), "--run-dir=" + t.TempDir(), "--run-id=x"},
		"the run has no name": {"--plan-dir=x", "--run-dir=x"},
	} {
		s := step.Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Env: func(string) string { return "" }}
		if code := step.Run(context.Background(), "collect", collect.Run, s, args); code != contract.ExitUsage {
			t.Errorf("%s: exit code %d", name, code)
		}
	}
}

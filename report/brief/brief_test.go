package brief

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/reporttest"
	"bflow.dev/bflow/runplan/contract"
)

func TestABriefSaysWhatTheReportSays(t *testing.T) {
	dir := reporttest.Write(t, reporttest.Run{})
	r, err := assemble.Report(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteJSON(filepath.Join(dir, contract.FileReport), r); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteJSON(filepath.Join(dir, report.FileMLflow),
		map[string]string{"run_id": "1", "url": "https://mlflow.example/#/1"}); err != nil {
		t.Fatal(err)
	}
	b, err := Of(dir, r.Plan, Run{ID: "ladder-x", Attempt: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := report.Headline(r)
	switch {
	case b.Verdict != r.Verdict.Verdict || b.ExitCode != r.Verdict.ExitCode || b.Error != "":
		t.Errorf("verdict %s, %d, %q", b.Verdict, b.ExitCode, b.Error)
	case len(b.Stages) != 4 || b.Headline == nil || b.Headline.Name != want.Planned.Name:
		t.Errorf("stages %+v, headline %+v", b.Stages, b.Headline)
	case *b.Headline.Metrics["ttft"].P99 != want.Metrics["ttft"].Quantiles["p99"]:
		t.Error("the headline has another p99")
	case b.Links["mlflow"] != "https://mlflow.example/#/1" || b.Attempt != 2 || b.PlanHash != r.Plan.Hash:
		t.Errorf("%+v", b)
	}
}

func TestABriefStaysSmall(t *testing.T) {
	b := &Brief{Headline: &Stage{Name: "h"}}
	for i := range 500 {
		b.Stages = append(b.Stages, Stage{
			Name: fmt.Sprint("stage-", i), Rates: map[string]float64{"request_rate": float64(i)},
			Measurement: strings.Repeat("x", 50),
		})
	}
	text, err := b.Marshal()
	if err != nil || len(text) > MaxSize || b.Omitted == 0 || len(b.Stages)+b.Omitted != 500 {
		t.Errorf("%d bytes, %d stages, %d omitted, %v", len(text), len(b.Stages), b.Omitted, err)
	}
	var back Brief
	if err := json.Unmarshal(text, &back); err != nil || back.Headline.Name != "h" {
		t.Error(err)
	}
}

func TestABriefOfARunWithoutAReportSaysWhy(t *testing.T) {
	plan := reporttest.Plan(t, reporttest.Run{})
	for _, row := range []struct {
		name, file, text, status, want string
		code                           int
	}{
		{"nothing was started", "", "", "Failed", "it ended before its report was made", contract.ExitFail},
		{"provision failed", contract.FileEvents, `{"source":"provision","event":"failed","message":"ImagePull: no ` +
			`such image","fields":{"exit_code":"3"}}` + "\n", "Failed",
			"provision: ImagePull: no such image", contract.ExitUnhealthy},
		{"it was cancelled while the server started", contract.FileEvents,
			`{"source":"provision","event":"cancelled"}` + "\n", "Failed",
			"it was cancelled, or its time was over, before its report was made", contract.ExitInterrupted},
		{"the load was interrupted", "measurements/0/loadgen.json", `{"interrupted":true}`, "Failed",
			"it was cancelled, or its time was over, before its report was made", contract.ExitInterrupted},
		{"the load was killed", "measurements/0/loadgen.json", `{"complete":false}`, "Failed",
			report.Unfinished, contract.ExitFail},
		{"the load was killed with all of its pipeline", "measurements/0/loadgen.json", `{"complete":false}`, "None",
			"it was cancelled, or its time was over, before its report was made", contract.ExitInterrupted},
		{"the pipeline was cut short", contract.FileEvents, `{"source":"provision","event":"ready"}` + "\n", "None",
			"it was cancelled, or its time was over, before its report was made", contract.ExitInterrupted},
		{"the server was unfit", contract.FileSmoketest,
			`{"checks":[{"name":"health","verdict":"fail","evidence":"503"}]}`, "Failed", "smoke test: health: 503",
			contract.ExitUnhealthy},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			if row.file != "" {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, row.file)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, row.file), []byte(row.text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			b, err := Of(dir, plan, Run{ID: "x", Attempt: 1, Status: row.status})
			if err != nil || b.Error != row.want || b.ExitCode != row.code {
				t.Errorf("got %q, %d, %v", b.Error, b.ExitCode, err)
			}
		})
	}
}

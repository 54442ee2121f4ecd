package brief

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/report/assemble"
	"bflow.dev/bflow/tasks/report/reporttest"
	"bflow.dev/bflow/tasks/step"
)

func TestABriefSaysWhatTheReportSays(t *testing.T) {
	dir := reporttest.Write(t, reporttest.Run{})
	r, err := assemble.Report(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := step.WriteJSON(filepath.Join(dir, contract.FileReport), r); err != nil {
		t.Fatal(err)
	}
	if err := step.WriteJSON(filepath.Join(dir, report.FileMLflow), map[string]string{"run_id": "1", "url": "https://mlflow.example/#/1"}); err != nil {
		t.Fatal(err)
	}
	b, err := Of(dir, r.Plan, "ladder-x", 2)
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
		b.Stages = append(b.Stages, Stage{Name: fmt.Sprint("stage-", i), Rates: map[string]float64{"request_rate": float64(i)}, Measurement: strings.Repeat("x", 50)})
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
	for _, row := range []struct{ name, file, text, want string }{
		{"nothing was started", "", "", "it ended before anything was started"},
		{"provision failed", contract.FileEvents, `{"source":"provision","event":"failed","message":"ImagePull: no such image"}` + "\n", "provision: ImagePull: no such image"},
		{"it was cancelled in the load", contract.FileEvents, `{"source":"provision","event":"ready"}` + "\n", "it ended before its report was made"},
		{"the server was unfit", contract.FileSmoketest, `{"checks":[{"name":"health","verdict":"fail","evidence":"503"}]}`, "smoke test: health: 503"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			if row.file != "" {
				if err := os.WriteFile(filepath.Join(dir, row.file), []byte(row.text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			b, err := Of(dir, plan, "x", 1)
			if err != nil || b.Error != row.want || b.ExitCode != contract.ExitFail {
				t.Errorf("got %q, %d, %v", b.Error, b.ExitCode, err)
			}
		})
	}
}

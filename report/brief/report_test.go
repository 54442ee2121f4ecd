package brief

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/page"
	"bflow.dev/bflow/report/reporttest"
	"bflow.dev/bflow/runplan/contract"
)

// TestPagesOverBriefsShowWhatPagesOverReportsShow: the same table, and every curve that a brief has figures for.
func TestPagesOverBriefsShowWhatPagesOverReportsShow(t *testing.T) {
	dir := reporttest.Write(t, reporttest.Run{})
	r, err := assemble.Report(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteJSON(filepath.Join(dir, contract.FileReport), r); err != nil {
		t.Fatal(err)
	}
	b, err := Of(dir, r.Plan, Run{ID: r.Run.ID, Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	back := b.Report()
	var want, got bytes.Buffer
	if err := report.Table(&want, screen.Screen{}, r); err != nil {
		t.Fatal(err)
	}
	if err := report.Table(&got, screen.Screen{}, back); err != nil {
		t.Fatal(err)
	}
	// Goodput and the doubt about quantiles of few values stand in the report alone.
	for i, line := range strings.Split(want.String(), "\n") {
		cells, others := strings.Fields(line), strings.Fields(strings.Split(got.String()+strings.Repeat("\n", 99), "\n")[i])
		if len(cells) > 10 && (cells[2] != others[2] || strings.TrimSuffix(cells[6], "~") != others[6] ||
			cells[len(cells)-1] != others[len(others)-1]) {
			t.Errorf("%q\nwant %q", others, cells)
		}
	}
	var html bytes.Buffer
	if err := page.Matrix(&html, back, back); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"TTFT p95 (intended) against load", "Output tokens against load", "Knee"} {
		if !strings.Contains(html.String(), want) {
			t.Errorf("no chart %q", want)
		}
	}
}

func TestABriefOfAFailureIsAReportOfIt(t *testing.T) {
	r := (&Brief{Run: "x", ExitCode: 3, Error: "the server did not answer"}).Report()
	if r.Verdict.ExitCode != 3 || r.Verdict.Verdict == "" || r.Verdict.Verdict == "pass" || len(r.Verdict.Reasons) != 1 {
		t.Errorf("%+v", r.Verdict)
	}
	var html bytes.Buffer
	if err := page.Matrix(&html, r); err != nil || !strings.Contains(html.String(), "the server did not answer") {
		t.Errorf("%v", err)
	}
}

package page_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/chart"
	"bflow.dev/bflow/report/page"
	"bflow.dev/bflow/report/reporttest"
	"bflow.dev/bflow/runplan"
)

func built(t *testing.T, run reporttest.Run) *report.Report {
	t.Helper()
	if run.Length == 0 {
		run.Length = 4 * time.Second
	}
	r, err := assemble.Report(reporttest.Write(t, run))
	if err != nil {
		t.Fatal(err)
	}
	r.Run.ID = "run-1"
	return r
}

func written(t *testing.T, r *report.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// slo makes gates of every kind.
func slo() *runplan.SLO {
	few, least := 0.02, 100.0
	return &runplan.SLO{Latency: map[string]map[string]runplan.Duration{
		"ttft": {"p95": runplan.Duration(200 * time.Millisecond)}},
		ErrorRate: &few, MinThroughput: &least,
		Goodput: &runplan.Goodput{Min: 0.95, TTFT: runplan.Duration(200 * time.Millisecond)}, OnBreach: "fail"}
}

func TestThePageNeedsNoNetworkAndRunsNothing(t *testing.T) {
	html := written(t, built(t, reporttest.Run{SLO: slo(), Failing: 0.05}))
	for _, bad := range []string{"<script", "src=", "@import", "url(", "<link rel=\"stylesheet", "<iframe"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if links := regexp.MustCompile(`href="[^"]*"`).FindAllString(html, -1); len(links) != 1 ||
		links[0] != `href="data:,"` {
		t.Errorf("links %v", links)
	}
}

func TestThePageShowsTheHeadline(t *testing.T) {
	r := built(t, reporttest.Run{SLO: slo()})
	html := written(t, r)
	s := report.Headline(r)
	for _, want := range figures(s) {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, title := range []string{"Time to first token (intended) against load", "Output tokens against load",
		"Knee: latency against throughput", "Distribution of time to first token",
		"Distribution of inter-token latency", "Requests in flight over time", "Sent, answered and failed over time",
		"Objectives", "Validity", "Engine", "Plan", "Environment"} {
		if !strings.Contains(html, title) {
			t.Errorf("the page lacks %q", title)
		}
	}
}

// figures are the numbers of a stage as the page prints them.
func figures(s *report.Stage) []string {
	out := []string{s.Planned.Name, chart.Number(s.Rates["request_rate"]), chart.Number(s.Rates["output_token_rate"])}
	for metric, quantiles := range map[string][]string{"ttft": {"p50", "p95"}, "ttft_intended": {"p50", "p95"},
		"itl": {"p50", "p99"}, "e2e": {"p50"}} {
		for _, q := range quantiles {
			out = append(out, chart.Number(s.Metrics[metric].Quantiles[q]))
		}
	}
	return append(out, chart.Number(s.Metrics["ttft"].Quantiles["p99"])+"~",
		fmt.Sprintf("%s %%", chart.Number(*s.ErrorRate*100)))
}

func TestThePageEscapesEverythingThatPeopleWrite(t *testing.T) {
	evil := `<img src=x onerror=alert(1)>`
	r := built(t, reporttest.Run{})
	r.Plan.Experiment, r.Plan.Name, r.Plan.Deployment.Model.Name = evil, evil, evil
	r.Plan.Axes = []runplan.AxisValue{{Path: "a." + evil, Value: evil}}
	r.Verdict.Reasons = []string{evil}
	r.Measurements[0].Notes = []string{evil}
	r.Server.Queries = []report.Query{{Name: evil, Query: evil, Error: evil}}
	for i := range r.Measurements[0].Pooled.Stages {
		r.Measurements[0].Pooled.Stages[i].Planned.Name = evil
	}
	for i := range r.Measurements[0].Samples[0].Stages {
		r.Measurements[0].Samples[0].Stages[i].Planned.Name = evil
	}
	var b bytes.Buffer
	if err := page.Matrix(&b, r, r); err != nil {
		t.Fatal(err)
	}
	for _, html := range []string{written(t, r), b.String()} {
		if strings.Contains(html, "<img") || !strings.Contains(html, "&lt;img") {
			t.Error("text is not escaped")
		}
	}
}

func TestAPageIsMadeOfEveryKindOfRun(t *testing.T) {
	for name, run := range map[string]reporttest.Run{"nothing": {NoResult: true}, "all failed": {Failing: 1},
		"one stage": {Rates: []float64{20}},
		"cut":       {Stages: 2}, "restart": {Restart: true}, "samples": {Samples: 2},
		"long": {Rates: []float64{5, 6}, Length: 400 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			html := written(t, built(t, run))
			if strings.Contains(html, "NaN") || strings.Contains(html, "Inf") && !strings.Contains(html, "Info") {
				t.Error("the page holds a number that is none")
			}
			if len(html) > 1<<20 {
				t.Errorf("the page has %d bytes", len(html))
			}
		})
	}
}

func TestMatrixHasAPointPerRun(t *testing.T) {
	axis := func(v any) []runplan.AxisValue {
		return []runplan.AxisValue{{Path: "engine.sim.max_num_seqs", Value: v}}
	}
	a, b := built(t, reporttest.Run{Axes: axis(64)}), built(t, reporttest.Run{Axes: axis(24), Slots: 24, Failing: 0.05})
	var out bytes.Buffer
	if err := page.Matrix(&out, a, b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"max_num_seqs=64", "max_num_seqs=24", "2 runs", `class="pill fail"`,
		"TTFT p95 (intended) against load"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestRunsOfTheSamePointAreToldApart(t *testing.T) {
	a, b := built(t, reporttest.Run{Rates: []float64{20}}), built(t, reporttest.Run{Rates: []float64{20}})
	a.Run.ID, b.Run.ID = "ladder-1", "ladder-2"
	var out bytes.Buffer
	if err := page.Matrix(&out, a, b); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "ladder-2") < 3 {
		t.Error("the second run is not named")
	}
}

// save writes a page into a folder of the test and returns its path.
func save(t *testing.T, html string) string {
	t.Helper()
	path := t.TempDir() + "/report.html"
	if err := os.WriteFile(path, []byte(html), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestASecondWithoutAFirstTokenHasNoTTFT(t *testing.T) {
	r := built(t, reporttest.Run{})
	quiet := &r.Measurements[0].Samples[0].Stages[0].Series[1]
	quiet.TTFTP50, quiet.TTFTP99, quiet.Errors = 0, 0, 7
	var out bytes.Buffer
	if err := page.Write(&out, r); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`<td[^>]*>7</td>\s*<td[^>]*>–</td>\s*<td[^>]*>–</td>`).MatchString(out.String()) {
		t.Error("the timeline shows a TTFT for a second in which no token came")
	}
}

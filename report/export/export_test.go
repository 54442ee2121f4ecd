package export_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/export"
	"bflow.dev/bflow/report/reporttest"
	"bflow.dev/bflow/runplan"
)

func built(t *testing.T, run reporttest.Run) export.Run {
	t.Helper()
	run.Length = 4 * time.Second
	dir := reporttest.Write(t, run)
	r, err := assemble.Report(dir)
	if err != nil {
		t.Fatal(err)
	}
	return export.Run{Dir: dir, Report: r}
}

func exported(t *testing.T, format string, run export.Run) string {
	t.Helper()
	e, err := export.New(format)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := e.Export(t.Context(), &b, run); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAnUnknownFormatNamesTheKnownOnes(t *testing.T) {
	_, err := export.New("xls")
	if err == nil || !strings.Contains(err.Error(), "junit") {
		t.Error(err)
	}
}

func TestEveryFormatTakesEveryKindOfRun(t *testing.T) {
	for name, run := range map[string]reporttest.Run{"healthy": {}, "all failed": {Failing: 1},
		"nothing": {NoResult: true}, "cut": {Stages: 2}} {
		r := built(t, run)
		for _, format := range export.Formats() {
			e, err := export.New(format)
			if err != nil {
				t.Fatal(err)
			}
			err = exportAll(t.Context(), e, r)
			if empty := name == "nothing" && needsStage(format); (err != nil) != empty {
				t.Errorf("%s of %s: %v", format, name, err)
			}
		}
	}
}

// exportAll writes every file of a format to nowhere.
func exportAll(ctx context.Context, e export.Exporter, run export.Run) error {
	files, err := e.Files(ctx, run)
	for _, f := range files {
		if err := f.Write(ctx, &bytes.Buffer{}); err != nil {
			return err
		}
	}
	return err
}

// needsStage says whether a run without a measured stage has nothing for the format.
func needsStage(format string) bool {
	for _, prefix := range []string{"report-v0.2", "guidellm", "vllm-bench", "inference-perf", "aiperf", "opensearch"} {
		if strings.HasPrefix(format, prefix) {
			return format != "opensearch-template"
		}
	}
	return false
}

// judged has a gate that fails, one that passes and an invalid stage.
func judged(t *testing.T) export.Run {
	slo := &runplan.SLO{Latency: map[string]map[string]runplan.Duration{
		"ttft": {"p50": runplan.Duration(10 * time.Millisecond)}, "itl": {"p50": runplan.Duration(time.Second)}},
		OnBreach: "fail"}
	return built(t, reporttest.Run{
		SLO: slo, Rates: []float64{40},
		Checks: []report.Check{{Name: "cpu_share", Value: 0.9, Limit: 0.8, Reason: "client_limited"}},
	})
}

func TestJUnit(t *testing.T) {
	text := exported(t, "junit", judged(t))
	var suites struct {
		Name   string `xml:"name,attr"`
		Suites []struct {
			Tests, Failures, Errors int `xml:",attr"`
			Cases                   []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Type    string `xml:"type,attr"`
					Message string `xml:"message,attr"`
				} `xml:"failure"`
				Error *struct {
					Type string `xml:"type,attr"`
				} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(text), &suites); err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]string{}
	for _, c := range suites.Suites[0].Cases {
		switch {
		case c.Failure != nil:
			outcomes[c.Name] = c.Failure.Type + ": " + c.Failure.Message
		case c.Error != nil:
			outcomes[c.Name] = c.Error.Type
		default:
			outcomes[c.Name] = "ok"
		}
	}
	if suites.Name != "ladder" || !strings.HasPrefix(outcomes["rate-40: ttft p50 ≤ 10 ms"], "slo: 3") ||
		!strings.Contains(outcomes["rate-40: ttft p50 ≤ 10 ms"], " ms > 10 ms (n=") {
		t.Errorf("outcomes %v", outcomes)
	}
	if outcomes["rate-40: itl p50 ≤ 1000 ms"] != "ok" || outcomes["rate-40: valid"] != "client_limited" {
		t.Errorf("outcomes %v", outcomes)
	}
}

func TestRowsHaveEveryRequestAndItsLatencies(t *testing.T) {
	run := built(t, reporttest.Run{Rates: []float64{20}, Failing: 0.2})
	rows, err := csv.NewReader(strings.NewReader(exported(t, "rows-csv", run))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, s := range run.Report.Measurements[0].Pooled.Stages {
		all += s.Counts.All
	}
	if len(rows) != all+1 {
		t.Errorf("%d rows, want %d and a head", len(rows), all)
	}
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	for _, row := range rows[1:] {
		ok := row[at["status"]] == "ok"
		for _, name := range []string{"ttft_ms", "ttft_intended_ms", "e2e_ms", "tpot_ms", "ntpot_ms", "tokens_out"} {
			if (row[at[name]] != "") != ok {
				t.Fatalf("status %s, %s %q", row[at["status"]], name, row[at[name]])
			}
		}
	}
}

func TestSummaryHasARowPerSampleAndStage(t *testing.T) {
	run := built(t, reporttest.Run{Samples: 2})
	rows, err := csv.NewReader(strings.NewReader(exported(t, "csv", run))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	head := "run,plan_hash,model,engine,gpu,gpus,stage,rate,concurrency,sample,verdict,valid,token_count_source"
	if len(rows) != 1+2*5 || !strings.HasPrefix(strings.Join(rows[0], ","), head) {
		t.Errorf("%d rows under %v", len(rows), rows[0])
	}
	if text := strings.Join(rows[0], ","); !strings.Contains(text, "ttft_p95_ms") ||
		!strings.Contains(text, "output_token_rate_tokens_per_s") {
		t.Errorf("columns %s", text)
	}
}

func TestPrometheusTextCanBeRead(t *testing.T) {
	run := judged(t)
	run.Report.Measurements[0].Name = "a\"b\\c\n"
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(exported(t, "prometheus", run)))
	if err != nil {
		t.Fatal(err)
	}
	want := run.Report.Measurements[0].Pooled.Stages[1].Metrics["ttft"].Quantiles["p95"]
	if got := families["bflow_ttft_p95_ms"].GetMetric()[0].GetGauge().GetValue(); got != want {
		t.Errorf("ttft p95 %v, want %v", got, want)
	}
}

func TestMarkdownEscapesAndNamesTheVerdict(t *testing.T) {
	run := judged(t)
	run.Report.Measurements[0].Pooled.Stages[1].Planned.Name = "a|b<script>"
	text := exported(t, "markdown", run)
	for _, want := range []string{"invalid", `a\|b&lt;script&gt;`, "| ttft p50 |", "client\\_limited", "exit code"} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
}

func TestMarkdownIsCutAtTheLimit(t *testing.T) {
	run := judged(t)
	g := run.Report.Verdict.Gates[0]
	for range 20000 {
		run.Report.Verdict.Gates = append(run.Report.Verdict.Gates, g)
	}
	if text := exported(t, "markdown", run); len(text) > 1<<20 || !strings.Contains(text, "was cut") {
		t.Errorf("%d bytes", len(text))
	}
}

func TestAnnotationsAreOneLineEach(t *testing.T) {
	run := judged(t)
	run.Report.Verdict.Gates[0].StageName = "a,b:c\nd"
	text := exported(t, "annotations", run)
	if !strings.Contains(text, "::warning title=rate-40::client_limited: cpu_share is 0.9, limit 0.8") ||
		!strings.Contains(text, "title=a%2Cb%3Ac%0Ad::") {
		t.Errorf("annotations:\n%s", text)
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "::") {
			t.Errorf("line %q", line)
		}
	}
}

func TestBenchstatHasALinePerSample(t *testing.T) {
	text := exported(t, "benchstat", built(t, reporttest.Run{Rates: []float64{20}, Samples: 3}))
	if n := strings.Count(text, "BenchmarkLoad/rate-20 1 "); n != 3 || !strings.Contains(text, " ttft-p95-ms") {
		t.Errorf("%s", text)
	}
}

func TestReportJSONIsTheYAML(t *testing.T) {
	run := judged(t)
	var doc map[string]any
	if err := json.Unmarshal([]byte(exported(t, "report-v0.2-json", run)), &doc); err != nil || doc["version"] != "0.2" {
		t.Errorf("version %v, %v", doc["version"], err)
	}
	if text := exported(t, "report-v0.2", run); !strings.HasPrefix(text, "# Written by bflow") ||
		!strings.Contains(text, "version: \"0.2\"") {
		t.Errorf("%.80s", text)
	}
}

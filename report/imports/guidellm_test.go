package imports_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/report"
)

func TestARealGuideLLMReportFieldForField(t *testing.T) {
	const path = "testdata/guidellm-0.8.1/benchmarks.json"
	doc := raw(t, path)
	b := at(doc, "benchmarks", 0)
	dir, r := imported(t, path)
	m, s, rows := r.Measurements[0], pooled(r), rowsOf(t, dir)
	if m.Tool != "guidellm" || m.ToolVersion != "0.8.1" || r.Plan.Deployment.Model.Name != "ref-model" ||
		r.Run.Endpoint != "http://127.0.0.1:8001" {
		t.Errorf("tool %q %q, model %q, endpoint %q", m.Tool, m.ToolVersion, r.Plan.Deployment.Model.Name, r.Run.Endpoint)
	}
	if s.Planned.Concurrency != 2 || s.Planned.Shape != "closed" || s.Counts.Total != 4 || s.Counts.ByStatus["ok"] != 4 {
		t.Errorf("stage %+v, counts %+v", s.Planned, s.Counts)
	}
	near(t, "length of the window", s.WindowS, num(t, b, "duration"), 1e-6)
	near(t, "start", float64(s.Window.StartNS)/1e9, num(t, b, "start_time"), 1e-6)
	near(t, "request rate", s.Rates["request_rate"],
		num(t, b, "metrics", "requests_per_second", "successful", "mean"), 1e-9)
	near(t, "output token rate", s.Rates["output_token_rate"],
		num(t, b, "metrics", "output_tokens_per_second", "total", "mean"), 1e-9)
	near(t, "ttft", s.Metrics["ttft"].Mean, num(t, b, "metrics", "time_to_first_token_ms", "successful", "mean"), 1e-3)
	near(t, "e2e", s.Metrics["e2e"].Mean, 1000*num(t, b, "metrics", "request_latency", "successful", "mean"), 1e-3)
	near(t, "tpot of equal lengths", s.Metrics["tpot"].Mean,
		num(t, b, "metrics", "inter_token_latency_ms", "successful", "mean"), 1e-3)
	near(t, "tpot_incl of equal lengths", s.Metrics["tpot_incl"].Mean,
		num(t, b, "metrics", "time_per_output_token_ms", "successful", "mean"), 1e-3)
	for _, row := range at(b, "requests", "successful").([]any) {
		compareGuideLLM(t, row, rows[at(row, "request_id").(string)])
	}
}

// compareGuideLLM compares each number of a row with what the file says.
func compareGuideLLM(t *testing.T, want any, got report.Row) {
	t.Helper()
	timings := at(want, "info", "timings")
	near(t, "ttft", ms(got.TSend, got.TFirst), num(t, want, "time_to_first_token_ms"), 1e-3)
	near(t, "ttfc", ms(got.TSend, got.TContent), num(t, want, "time_to_first_output_token_ms"), 1e-3)
	near(t, "send - intended", ms(&got.TIntended, got.TSend), 1e3*num(t, want, "request_dispatch_delay"), 1e-3)
	near(t, "first byte", ms(got.TSend, got.TFirstByte),
		1e3*(num(t, timings, "first_request_iteration")-num(t, timings, "request_start")), 1e-3)
	n := num(t, want, "output_tokens")
	near(t, "(last - first)/(n - 1)", ms(got.TFirst, got.TLast)/(n-1), num(t, want, "inter_token_latency_ms"), 1e-3)
	near(t, "tokens in", float64(*got.TokensIn), num(t, want, "prompt_tokens"), 0)
	near(t, "tokens out", float64(*got.TokensOut), n, 0)
	near(t, "events", float64(*got.Events), num(t, timings, "token_iterations"), 0)
	if got.Status == report.StatusOK {
		near(t, "e2e", ms(got.TSend, got.TEnd), 1e3*num(t, want, "request_latency"), 1e-3)
	}
}

func TestGuideLLMFailures(t *testing.T) {
	for _, tt := range []struct {
		file, class string
		firstToken  bool
	}{
		{"G500", report.ErrHTTP5xx, false},
		{"Gcut", report.ErrTruncated, true},
		{"Gsse", report.ErrErrorInStream, true},
	} {
		t.Run(tt.file, func(t *testing.T) {
			path := "testdata/guidellm-0.8.1/" + tt.file + "-benchmarks.json"
			b := at(raw(t, path), "benchmarks", 0)
			dir, r := imported(t, path)
			s, rows := pooled(r), rowsOf(t, dir)
			want := int(num(t, b, "metrics", "request_totals", "errored"))
			if s.Counts.ByStatus[report.StatusFailed] != want || s.Counts.ByClass[tt.class] != want ||
				*s.ErrorRate != 1 || r.Verdict.Verdict != report.NotJudged || r.Verdict.ExitCode != 0 {
				t.Errorf("counts %+v, verdict %s", s.Counts, r.Verdict.Verdict)
			}
			for _, row := range at(b, "requests", "errored").([]any) {
				got := rows[at(row, "request_id").(string)]
				if got.Error == "" || (got.TFirst != nil) != tt.firstToken {
					t.Errorf("row %+v", got)
				}
				if tt.firstToken {
					compareGuideLLM(t, row, got)
				}
			}
			if _, ok := s.Metrics["ttft"]; ok {
				t.Error("failed requests have a latency in the stage")
			}
		})
	}
}

func TestARealGuideLLM031Report(t *testing.T) {
	const path = "testdata/guidellm-0.3.1/ok-benchmarks.json"
	b := at(raw(t, path), "benchmarks", 0)
	dir, r := imported(t, path)
	s, rows := pooled(r), rowsOf(t, dir)
	if s.Counts.ByStatus[report.StatusOK] != int(num(t, b, "request_totals", "successful")) || s.Planned.Concurrency != 2 {
		t.Errorf("counts %+v, stage %+v", s.Counts, s.Planned)
	}
	near(t, "e2e", s.Metrics["e2e"].Mean, 1e3*num(t, b, "metrics", "request_latency", "successful", "mean"), 1e-3)
	for _, want := range at(b, "requests", "successful").([]any) {
		got := rows[at(want, "request_id").(string)]
		n := num(t, want, "output_tokens")
		near(t, "ttft", ms(got.TSend, got.TFirst), num(t, want, "time_to_first_token_ms"), 1e-3)
		near(t, "(last - first)/n", ms(got.TFirst, got.TLast)/n, num(t, want, "time_per_output_token_ms"), 1e-3)
		near(t, "(last - first)/(n - 1)", ms(got.TFirst, got.TLast)/(n-1), num(t, want, "inter_token_latency_ms"), 1e-3)
		near(t, "e2e", ms(got.TSend, got.TEnd), 1e3*num(t, want, "request_latency"), 1e-3)
	}
	overN := num(t, b, "metrics", "time_per_output_token_ms", "successful", "mean")
	near(t, "tpot_over_n", s.Metrics["tpot_over_n"].Mean, overN, .05)
	if incl := s.Metrics["tpot_incl"].Mean; incl < overN+1 {
		t.Errorf("tpot_incl is %v: it must hold the first token, which time per output token of 0.3.1 (%v) does not",
			incl, overN)
	}
}

func TestErrorRowsOf031HaveNoOutputTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "benchmarks.json")
	check(t, os.WriteFile(path, []byte(report031), 0o644))
	dir, r := imported(t, path)
	if row := rowsOf(t, dir)["a"]; row.TokensOut != nil || *row.TokensIn != 64 || row.Status != report.StatusFailed {
		t.Errorf("row %+v", row)
	}
	if r.Measurements[0].ToolVersion != "<=0.3" {
		t.Errorf("version %q", r.Measurements[0].ToolVersion)
	}
	check(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, secret := range []string{"s3cret", "pw@"} {
			if strings.Contains(string(data), secret) {
				t.Errorf("%s holds %q", path, secret)
			}
		}
		return err
	}))
}

func TestGenerationsAreToldApartByShape(t *testing.T) {
	for want, doc := range map[string]string{
		"0.7.3":      `{"metadata":{"version":2,"guidellm_version":"0.7.3"},"config":{},` + report2,
		"0.5 or 0.6": `{"metadata":{"version":1},"args":{},` + report2,
		"0.4":        `{"args":{},` + report2,
	} {
		path := filepath.Join(t.TempDir(), "benchmarks.json")
		check(t, os.WriteFile(path, []byte(doc), 0o644))
		_, r := imported(t, path)
		s := pooled(r)
		if got := r.Measurements[0].ToolVersion; got != want || s.Counts.Total != 21 ||
			s.Counts.ByStatus[report.StatusCut] != 1 || s.Metrics["ttft"].Quantiles["p99_9"] != 9 ||
			s.Metrics["ttft"].Quantiles["p0_1"] != 5 {
			t.Errorf("version %q, want %q; %+v %+v", got, want, s.Counts, s.Metrics["ttft"])
		}
		if s.Rates["offered_rate"] != 2 || s.Metrics["ttft"].Has("p95") {
			t.Errorf("rates %v, metric %+v", s.Rates, s.Metrics["ttft"])
		}
	}
}

const report031 = `{"benchmarks":[{"run_stats":{"start_time":1e9,"end_time":1000000010,"requests_made":{"successful":0,"errored":1,"incomplete":0,"total":1}},
	"metrics":{},"request_totals":{"successful":0,"errored":1,"incomplete":0,"total":1},"args":{"strategy":{"type_":"constant","rate":2}},
	"worker":{"backend_target":"http://user:pw@h:1","backend_model":"m","backend_info":{"headers":{"Authorization":"Bearer s3cret"}}},
	"requests":{"successful":[],"incomplete":[],"errored":[{"type_":"generative_text_error","request_id":"a","prompt_tokens":64,"output_tokens":64,
	"start_time":1000000001,"end_time":1000000002,"first_token_time":null,"error":"boom"}]}}]}`

const report2 = `"benchmarks":[{"config":{"strategy":{"type_":"constant","rate":2}},"scheduler_metrics":{"start_time":1e9,"request_start_time":1e9,
	"measure_start_time":1e9,"measure_end_time":1000000010,"end_time":1000000010,"requests_made":{"total":30}},"scheduler_state":{},
	"metrics":{"request_totals":{"successful":20,"errored":0,"incomplete":1,"total":21},"time_to_first_token_ms":{"successful":{"mean":7,"count":20,"std_dev":1,"min":5,"max":9,"total_sum":140,
	"percentiles":{"p001":5,"p50":7,"p999":9}}}},"requests":{"successful":[],"errored":[],"incomplete":[]}}]}`

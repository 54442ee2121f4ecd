package truth

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/e2e/product"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/sim"
)

// edges is a run of stages in which numbers do not exist: answers of one token, a window without a request, a cap that
// drops, and a stage that a rule ends because the engine refuses everything: as it does once stage wait has begun.
const edges = `
apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: here}
spec: {platform: kubernetes, mode: plain, engine: {kind: sim}}
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: edges}
spec:
  model: {name: acme/tiny}
  deployment_profile: here
  engine: {kind: sim, sim: {ttft: 10ms, itl: 2ms}}
  execution: {on_invalid: mark}
  load:
    data: {input: 16, output: 1}
    stages:
      - {name: one, concurrency: 2, requests: 40}
      - {name: none, concurrency: 2, duration: 200ms, skip_first: 1s}
      - {name: drop, rate: 400, duration: 500ms, max_inflight: 2, on_full: drop}
      - {name: wait, measure: false, rate: 20, duration: 5m, stop: [{kind: max_errors, count: 1}]}
      - {name: cut, rate: 100, duration: 30s, stop: [{kind: max_errors, count: 10}]}
  slo: {itl: {p50: 1s}, goodput: {min: 0.1, ttft: 1m, tpot: 1m}}
`

func TestNumbersThatDoNotExistAreAbsent(t *testing.T) {
	p := product.New(t)
	p.Write("edges.yaml", edges)
	cmd := p.Start("run", "--local", "--plain", "edges.yaml")
	begun := p.AwaitLoad(1)
	eventually.True(t, "stage wait has begun", func() bool {
		return slices.ContainsFunc(begun.Truth(), func(r sim.Record) bool { return strings.Contains(r.RequestID, "-s3-") })
	})
	begun.Inject(runplan.Fault{Kind: runplan.FaultHTTP500})
	if got := cmd.Wait(); got.Code != contract.ExitFail {
		t.Fatalf("exit code %d:\n%s", got.Code, got.Err)
	}
	r := p.Only()
	stages := map[string]report.Stage{}
	for _, s := range r.Report().Measurements[0].Pooled.Stages {
		stages[s.Planned.Name] = s
	}
	one, none := stages["one"], stages["none"]
	drop, cut := stages["drop"], stages["cut"]
	_, rows := r.Rows()

	if one.Counts.ByStatus["ok"] != 40 || one.Goodput.Good != 40 || one.Goodput.Undetermined["tpot"] != 40 ||
		len(one.Goodput.Attainments()) != 1 {
		t.Errorf("one token: counts %v, goodput %+v", one.Counts, one.Goodput)
	}
	absent(t, one, "itl", "itl_perceived", "tpot", "tpot_strict")
	verdicts := []string{"inconclusive", "invalid"} // the latter where the machine was too busy to be on time
	if one.Metrics["ntpot"].N != 40 || one.Metrics["tpot_incl"].N != 40 || !slices.Contains(verdicts, one.Verdict) {
		t.Errorf("one token: %d and %d values per token, verdict %s",
			one.Metrics["ntpot"].N, one.Metrics["tpot_incl"].N, one.Verdict)
	}

	if none.Counts.Total != 0 || none.Counts.All == 0 || none.ErrorRate != nil || none.WindowS != 0 ||
		none.Verdict != "fail" {
		t.Errorf("no window: counts %+v, error rate %v, %v s, verdict %s",
			none.Counts, none.ErrorRate, none.WindowS, none.Verdict)
	}
	absent(t, none, slices.Collect(maps.Keys(one.Metrics))...)

	dropped := drop.Counts.ByStatus["dropped"]
	if dropped == 0 || *drop.ErrorRate != float64(dropped)/float64(drop.Counts.Total) || drop.Verdict != "fail" {
		t.Errorf("dropped: counts %+v, error rate %v, verdict %s", drop.Counts, drop.ErrorRate, drop.Verdict)
	}

	if cut.Ended != "max_errors" || cut.WindowS > 10 || *cut.ErrorRate != 1 || cut.Goodput.Attainment != 0 {
		t.Errorf("cut by a rule: ended by %q after %v s, error rate %v, goodput %+v",
			cut.Ended, cut.WindowS, *cut.ErrorRate, cut.Goodput)
	}
	sent := 0
	for _, row := range rows {
		if row.Stage == cut.Stage && row.Phase == report.PhaseMeasured {
			sent++
		}
	}
	near(t, "rate of a stage that was cut", cut.Rates["achieved_rate"], float64(sent)/cut.WindowS, 0.02)
	absent(t, cut, "ttft", "ttft_intended", "e2e", "tokens_out")

	reasons := strings.Join(r.Report().Verdict.Reasons, "\n")
	for _, want := range []string{`stage "none": no request succeeded (none was measured)`,
		`stage "cut": no request succeeded`, "of the requests were dropped"} {
		if !strings.Contains(reasons, want) {
			t.Errorf("no reason says %q:\n%s", want, reasons)
		}
	}
	inBenchmarkReports(t, r, one, none, cut)
}

func absent(t *testing.T, s report.Stage, metrics ...string) {
	t.Helper()
	for _, name := range metrics {
		if m, ok := s.Metrics[name]; ok && name != "concurrency" {
			t.Errorf("stage %q has %d values of %s", s.Planned.Name, m.N, name)
		}
	}
}

// inBenchmarkReports fails the test where a benchmark report holds what was not measured.
func inBenchmarkReports(t *testing.T, r product.Run, one, none, cut report.Stage) {
	t.Helper()
	for stage, unwanted := range map[int][]string{one.Stage: {"time_per_output_token", "inter_token_latency"},
		none.Stage: {"latency:", "throughput:"}, cut.Stage: {"latency:", "output_length"}} {
		text, err := os.ReadFile(r.Measurement(fmt.Sprintf("benchmark_report_v0.2,_stage_%d.yaml", stage)))
		if err != nil {
			t.Fatal(err)
		}
		performance, _, _ := strings.Cut(string(text), "observability:")
		_, performance, _ = strings.Cut(performance, "request_performance:")
		for _, word := range unwanted {
			if strings.Contains(performance, " "+word) {
				t.Errorf("the benchmark report of stage %d holds %q:\n%s", stage, word, performance)
			}
		}
	}
}

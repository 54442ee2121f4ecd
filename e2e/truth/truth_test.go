package truth

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"bflow.dev/bflow/e2e/product"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

func TestMain(m *testing.M) { product.Main(m) }

// experiment has all that numbers can go wrong by: a queue before the server, trims by time and share, two samples,
// answers of one token, and requests that fail before, during and instead of their answer.
const experiment = `
apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: here}
spec: {platform: kubernetes, mode: plain, engine: {kind: sim}}
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: truth}
spec:
  model: {name: acme/tiny}
  deployment_profile: here
  engine:
    kind: sim
    sim: {ttft: 15ms, itl: 2ms}
  execution: {samples: 2, on_invalid: mark}
  load:
    data: {input: {mean: 40, stdev: 10, min: 20, max: 60}, output: {mean: 6, stdev: 4, min: 1, max: 12}}
    stages:
      - {name: warm, measure: false, concurrency: 2, duration: 1s}
      - {name: open, rate: 120, arrival: poisson, max_inflight: 4, duration: 2s, skip_first: 300ms, skip_last: 0.1}
      - {name: closed, concurrency: 6, duration: 4s, skip_first: 0.2}
  slo: {ttft: {p90: 60ms}, e2e: {p50: 70ms}, tpot: {mean: 4ms}, error_rate: 0.5, goodput: {min: 0.5, ttft: 30ms, tpot: 2.5ms, e2e: 50ms}}
`

var objectives = limits{ttft: 30 * time.Millisecond, tpot: 2500 * time.Microsecond, e2e: 50 * time.Millisecond}

// measuredStages are their windows as trims cut them, in ms from the start.
var measuredStages = map[int]struct {
	open     bool
	from, to int64
}{1: {open: true, from: 300, to: 1800}, 2: {from: 800, to: 4000}}

// finished is a run with everything that is read from it.
type finished struct {
	product.Run
	report *report.Report
	parts  map[int][]part // by stage, one per sample
}

func TestNumbersFollowFromTheRows(t *testing.T) {
	r := run(t)
	for _, row := range []struct {
		name string
		test func(t *testing.T, r finished)
	}{
		{"phases", phases}, {"stages of samples", samples}, {"pooled stages", pooled}, {"summary.csv", summaryCSV},
		{"benchmark report", benchmarkReport}, {"gates", gates}, {"points of MLflow", points},
		{"counters of the engine", server},
	} {
		t.Run(row.name, func(t *testing.T) { row.test(t, r) })
	}
}

// run carries the experiment out. The tracking server refuses everything, but what was to be sent to it is on disk.
func run(t *testing.T) finished {
	t.Helper()
	refuse := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<html>")
	}))
	t.Cleanup(refuse.Close)
	p := product.New(t)
	p.Env = append(p.Env, "MLFLOW_TRACKING_URI="+refuse.URL)
	p.Write("truth.yaml", experiment)
	cmd := p.Start("run", "--local", "--plain", "truth.yaml")
	p.AwaitLoad(20).Inject(runplan.Fault{Kind: runplan.FaultHTTP500, Share: 0.05},
		runplan.Fault{Kind: runplan.FaultErrorEvent, Share: 0.04},
		runplan.Fault{Kind: runplan.FaultEmpty, Share: 0.02})
	if got := cmd.Wait(); got.Code != contract.ExitFail {
		t.Fatalf("exit code %d:\n%s", got.Code, got.Err)
	}
	r := finished{Run: p.Only(), parts: map[int][]part{}}
	r.report = r.Report()
	if source := r.report.Measurements[0].TokenCountSource; source != "usage" {
		t.Errorf("tokens were counted by %q", source)
	}
	t.Logf("%s: %q", r.report.Verdict.Verdict, r.report.Verdict.Reasons)
	header, rows := r.Rows()
	for _, sample := range r.report.Measurements[0].Samples {
		for _, s := range sample.Stages {
			cut := measuredStages[s.Stage]
			start := s.StartNS - header.AnchorUnixNS
			p := part{open: cut.open, from: start + cut.from*1e6, to: start + cut.to*1e6}
			for _, row := range rows {
				if row.Stage == s.Stage && row.Sample == s.Sample {
					p.rows = append(p.rows, row)
				}
			}
			r.parts[s.Stage] = append(r.parts[s.Stage], p)
		}
	}
	return r
}

func phases(t *testing.T, r finished) {
	for stage, parts := range r.parts {
		late := 0
		for _, p := range parts {
			for _, row := range p.rows {
				_, measured := measuredStages[stage]
				want := measured && p.measures(&row)
				if got := row.Phase == report.PhaseMeasured; got != want {
					t.Errorf("%q is %s; it belongs to the window: %v", row.ID, row.Phase, want)
				}
				if want && row.TEnd != nil && *row.TEnd >= p.to {
					late++
				}
			}
		}
		t.Logf("stage %d: %d measured requests ended after the window", stage, late)
	}
}

func samples(t *testing.T, r finished) {
	stages, err := report.ReadStages(r.Measurement(contract.FileStages))
	if err != nil || len(stages) != 6 {
		t.Fatalf("%d stages, %v", len(stages), err)
	}
	for _, s := range stages {
		if s.Planned.Measure {
			p := r.parts[s.Stage][s.Sample]
			want := recompute([]part{p}, objectives)
			compare(t, fmt.Sprintf("stage %q of sample %d", s.Planned.Name, s.Sample), &s, want)
			near(t, "length of the window", float64(s.Window.EndNS-s.Window.StartNS)/1e9, want.seconds, 1e-9)
		}
	}
}

func pooled(t *testing.T, r finished) {
	for i := range r.report.Measurements[0].Pooled.Stages {
		s := &r.report.Measurements[0].Pooled.Stages[i]
		if s.Planned.Measure {
			compare(t, fmt.Sprintf("pooled stage %q", s.Planned.Name), &s.StageResult, recompute(r.parts[s.Stage], objectives))
		}
	}
}

func compare(t *testing.T, where string, s *report.StageResult, want figures) {
	t.Helper()
	check := func(what string, got, want, share float64) { t.Helper(); near(t, where+": "+what, got, want, share) }
	if s.Counts.Total != want.total || fmt.Sprint(s.Counts.ByStatus) != fmt.Sprint(want.status) {
		t.Errorf("%s: counts %d %v, want %d %v", where, s.Counts.Total, s.Counts.ByStatus, want.total, want.status)
	}
	if s.ErrorRate == nil {
		t.Fatalf("%s: of %d requests none has ended, so nothing can be compared", where, want.total)
	}
	check("error_rate", *s.ErrorRate, want.errorRate(), 1e-12)
	for name, sum := range want.inWindow {
		if _, ok := s.Rates[name]; !ok && name == "offered_rate" && s.Planned.Concurrency > 0 {
			continue
		}
		tolerance := 1e-9
		if name == "output_token_rate" {
			tolerance = want.outTolerance()
		}
		check(name, s.Rates[name], sum/want.seconds, tolerance)
	}
	if m, ok := s.Metrics["concurrency"]; ok {
		check("concurrency", m.Mean, want.inFlightSeconds/want.seconds, 1e-9)
	}
	check("good", float64(s.Goodput.Good), float64(want.good), 0)
	check("attainment", s.Goodput.Attainment, float64(want.good)/float64(want.of), 1e-12)
	check("goodput", s.Goodput.RequestsPerS, float64(want.good)/want.seconds, 1e-9)
	check("token goodput", s.Goodput.TokensPerS, want.goodOut/want.seconds, 1e-9)
	for name, values := range want.values {
		distribution(t, where+": "+name, s.Metrics[name], values)
	}
	itl := s.Metrics["itl"]
	check("gaps", float64(itl.N), want.gaps, 0)
	check("sum of the gaps", itl.Sum, want.gapsMS, 1e-9)
	check("longest gap", itl.Max, want.longestGap, 1e-9)
}

func distribution(t *testing.T, what string, m report.Metric, values []float64) {
	t.Helper()
	near(t, what+" n", float64(m.N), float64(len(values)), 0)
	near(t, what+" mean", m.Mean, mean(values), 1e-9)
	near(t, what+" min", m.Min, slices.Min(values), 1e-9)
	near(t, what+" max", m.Max, slices.Max(values), 1e-9)
	for _, q := range report.Quantiles {
		near(t, what+" "+q.Name, m.Quantiles[q.Name], linear(values, q.P/100), 1e-9)
		few := float64(len(values))*(100-q.P) < 1000-1e-6
		if slices.Contains(m.LowN, q.Name) != few {
			t.Errorf("%s %s of %d values: low_n is %v", what, q.Name, len(values), !few)
		}
	}
}

// near fails the test unless got is within the given share of want.
func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if !(math.Abs(got-want) <= share*math.Abs(want)+1e-9*share) && got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

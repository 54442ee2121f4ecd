package opensearch

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// summary makes the document of one measured stage of one sample.
func summary(run tools.Run, m *tools.Measurement, s *tools.Stage, of identity) *summaryDoc {
	r := run.Report
	_, model := tools.Target(r)
	rate := max(s.Rate, s.Planned.Rate)
	c := s.Counts.ByStatus
	doc := &summaryDoc{DocType: "summary", Schema: Schema, UUID: of.uuid, JobName: of.job, Sample: strconv.Itoa(s.Sample),
		SampleIndex: s.Sample, Timestamp: timestamp(s.StartNS), Strategy: strategy(s), Rate: int(rate), RateRPS: rate,
		Concurrency: s.Planned.Concurrency, Stage: s.Planned.Name, StageIndex: of.stage, Total: s.Counts.Total,
		Successful: c[report.StatusOK], Errored: s.Counts.Failed(),
		Incomplete: c[report.StatusCut] + c[report.StatusCancelled],
		Model:      model, Harness: m.Tool, HarnessVersion: m.ToolVersion, Attempt: r.Run.Attempt, Verdict: s.Verdict,
		Valid:          s.Valid,
		InvalidReasons: append([]string{}, s.InvalidReasons...), TokenCountSource: m.TokenCountSource,
		ExportedBy: tools.ExportedBy, ErrorRate: s.ErrorRate, Parts: map[string]float64{}}
	doc.addLengths(m, s)
	doc.addSurroundings(r)
	if g := s.Goodput; g != nil {
		doc.Goodput, doc.Attainment = &g.RequestsPerS, &g.Attainment
	}
	doc.addLatencies(s)
	doc.addRates(s)
	return doc
}

func strategy(s *tools.Stage) string {
	switch {
	case s.Planned.Shape == "open" && s.Planned.Arrival != "":
		return s.Planned.Arrival
	case s.Planned.Shape == "closed":
		return "concurrent"
	}
	return s.Planned.Shape
}

// addLengths adds those asked for as text, the way existing dashboards have them, and the measured ones as numbers.
func (doc *summaryDoc) addLengths(m *tools.Measurement, s *tools.Stage) {
	if l := m.Plan.Data.Input; l != nil {
		doc.PromptTokens = fmt.Sprintf("%.0f", l.Mean)
	}
	if l := m.Plan.Data.Output; l != nil {
		doc.OutputTokens = fmt.Sprintf("%.0f", l.Mean)
	}
	if v, ok := s.Metrics["tokens_in"]; ok {
		doc.TokensInMean = &v.Mean
	}
	if v, ok := s.Metrics["tokens_out"]; ok {
		doc.TokensOutMean = &v.Mean
	}
}

func (doc *summaryDoc) addSurroundings(r *report.Report) {
	if e := r.Environment.Engine; e != nil {
		doc.Engine = e.Kind
	}
	if r.Plan == nil {
		return
	}
	doc.PlanHash = &r.Plan.Hash
	if gpu, n := report.GPUs(r.Plan); n > 0 {
		gpu = strings.TrimSpace(gpu)
		doc.GPU, doc.GPUs = &gpu, n
	}
}

// addLatencies: what the dashboards call itl is our tpot weighted by tokens, and their time per output token is
// (last - first)/n.
func (doc *summaryDoc) addLatencies(s *tools.Stage) {
	for _, l := range []struct {
		prefix, metric string
		weight         func(n int) float64 // of a request with n output tokens; nil = all weigh the same
		parts          string
	}{
		{"ttft", "ttft", nil, "mean p50 p95 p99"},
		{"ttft_intended", "ttft_intended", nil, "mean p95 p99"},
		{"itl_gap", "itl", nil, "mean p95 p99"},
		{"itl", "tpot", func(n int) float64 { return float64(n - 1) }, "mean p99"},
		{"time_per_output_token", "tpot_over_n", func(n int) float64 { return float64(n) }, "mean p95 p99"},
		{"tpot_excl_first", "tpot", nil, "mean p95 p99"},
		{"tpot_incl", "tpot_incl", nil, "mean p95 p99"},
		{"request_latency", "e2e", nil, "mean p95 p99"},
	} {
		m, ok := s.Metrics[l.metric]
		if l.weight != nil {
			m, ok = weigh(s, l.metric, l.weight)
		}
		suffix, factor := "_ms", 1.0
		if l.metric == "e2e" {
			suffix, factor = "_seconds", 1e-3
		}
		for part := range strings.FieldsSeq(l.parts) {
			if v, has := value(m, part); ok && has {
				doc.Parts[l.prefix+"_"+part+suffix] = v * factor
			}
		}
	}
}

func value(m report.Metric, part string) (float64, bool) {
	if part == "mean" {
		return m.Mean, true
	}
	v, ok := m.Quantiles[part]
	return v, ok
}

// weigh repeats the number of each request as often as its tokens say. Without rows what the report has stands.
func weigh(s *tools.Stage, metric string, weight func(n int) float64) (report.Metric, bool) {
	d, number := report.NewDistribution("ms"), tools.Numbers()[metric]
	for r := range s.Requests.Numbers() {
		v, ok := number(r)
		if !ok || r.Status != report.StatusOK {
			continue
		}
		for range int(math.Min(weight(*r.TokensOut), 1<<20)) {
			d.Add(v)
		}
	}
	if m, ok := d.Metric(); ok {
		return m, true
	}
	m, ok := s.Metrics[metric]
	return m, ok
}

// addRates: rates have a mean over the window; their quantiles are those of whole seconds.
func (doc *summaryDoc) addRates(s *tools.Stage) {
	for _, r := range []struct {
		prefix, suffix, name string
		of                   func(report.Second) float64
	}{
		{"throughput", "_rps", "request_rate", func(t report.Second) float64 { return float64(t.Done) }},
		{"output_tokens_per_second", "", "output_token_rate", func(t report.Second) float64 { return float64(t.TokensOut) }},
		{"tokens_per_second", "", "total_token_rate", nil},
	} {
		if v, ok := s.Rates[r.name]; ok {
			doc.Parts[r.prefix+"_mean"+r.suffix] = v
		}
		if r.of == nil {
			continue
		}
		xs := make([]float64, len(s.Series))
		for i, second := range s.Series {
			xs[i] = r.of(second)
		}
		if m, ok := report.Summarize("", xs); ok {
			doc.Parts[r.prefix+"_p95"+r.suffix] = m.Quantiles["p95"]
			doc.Parts[r.prefix+"_p99"+r.suffix] = m.Quantiles["p99"]
		}
	}
}

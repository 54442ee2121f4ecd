package mlflow

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// series maps a distribution of a stage to the names on the server: prefix, the quantiles that it is known by there,
// suffix with the unit, and the factor from our unit to that one. The first block has the names that BenchFlow used.
type series struct {
	metric, prefix, suffix string
	factor                 float64
	stats                  []string
}

func allSeries() []series {
	old := []string{"mean", "median", "p95", "p99"}
	all := []string{"mean", "median", "p50", "p90", "p95", "p99"}
	ours := []string{"mean", "p50", "p95", "p99"}
	return []series{
		{"e2e", "e2e_latency/latency", "sec", 1e-3, all},
		{"ttft", "ttft/ttft", "ms", 1, old},
		{tpotInclByToken, "tpot/tpot", "ms", 1, old},
		{tpotByToken, "itl/itl", "ms", 1, old},

		{"ttft_intended", "ttft/ttft_intended", "ms", 1, ours},
		{"ttfc", "ttft/ttfc", "ms", 1, ours},
		{"e2e_intended", "e2e_latency/latency_intended", "sec", 1e-3, ours},
		{"tpot", "tpot/tpot_excl_first", "ms", 1, ours},
		{"ntpot", "tpot/ntpot", "ms", 1, ours},
		{"itl", "itl/itl_gap", "ms", 1, ours},
		{"sched_lag", "client/sched_lag", "ms", 1, []string{"p99"}},
		{"queue_wait", "client/queue_wait", "ms", 1, []string{"p99"}},
		{"client_lag", "client/client_lag", "ms", 1, []string{"p99"}},
	}
}

// points are the metrics of every measured stage. The step is the load value as an integer; the exact value stands in
// load/rate_rps or load/concurrency. Stages of several samples at one load are points of one step at their own times.
func points(plan *runplan.RunPlan, stages []report.StageResult, end *report.Verdict) []Point {
	var out []Point
	several := len(plan.Measurements) > 1
	for i := range stages {
		s := &stages[i]
		if !s.Planned.Measure || !ran(s) {
			continue
		}
		values := stageValues(s)
		at, load := max(s.EndNS, 0)/1e6, loadStep(s)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			name := key
			if several {
				name = fmt.Sprintf("m%d/%s", s.Measurement, key)
			}
			out = appendFinite(out, Point{Key: name, Value: values[key], Timestamp: at, Step: load})
		}
	}
	_, last := span(stages)
	return appendFinite(out, Point{Key: "verdict", Value: verdictNumber(end.Verdict), Timestamp: max(last.UnixMilli(), 0)})
}

// appendFinite leaves NaN and infinities out: a resent NaN is refused by the 2.x servers.
func appendFinite(out []Point, p Point) []Point {
	if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) {
		return out
	}
	return append(out, p)
}

func verdictNumber(word string) float64 {
	switch word {
	case "pass":
		return 1
	case "fail":
		return 0
	case "inconclusive":
		return -1
	default:
		return -2
	}
}

func loadStep(s *report.StageResult) int64 {
	switch {
	case s.Planned.Concurrency > 0:
		return int64(s.Planned.Concurrency)
	case rateOf(s) > 0:
		return int64(math.Round(rateOf(s)))
	default:
		return int64(s.Stage)
	}
}

func rateOf(s *report.StageResult) float64 { return cmp.Or(s.Rate, s.Planned.Rate) }

// stageValues are the metrics of one stage by name.
func stageValues(s *report.StageResult) map[string]float64 {
	v := map[string]float64{
		"requests/total_requests":        float64(s.Counts.Total),
		"requests/successful_requests":   float64(s.Counts.ByStatus[report.StatusOK]),
		"requests/failed_requests":       float64(s.Counts.Failed()),
		"throughput/total_input_tokens":  float64(s.Tokens.In),
		"throughput/total_output_tokens": float64(s.Tokens.Out),
		"throughput/total_tokens":        float64(s.Tokens.In + s.Tokens.Out),
		"tokens/exact_length_ratio":      float64(s.Tokens.ExactLength) / float64(s.Counts.ByStatus[report.StatusOK]),
	}
	if share, ok := s.Tokens.CacheHitRate(); ok {
		v["tokens/cached_ratio"] = share
	}
	if s.ErrorRate != nil {
		v["requests/error_rate"] = *s.ErrorRate
	}
	addRates(v, s)
	addLoad(v, s)
	for _, d := range allSeries() {
		if m, ok := s.Metrics[d.metric]; ok {
			addStats(v, d, m)
		}
	}
	for metric, name := range map[string]string{"concurrency": "requests/request_concurrency_mean",
		"tokens_in": "tokens/in_mean", "tokens_out": "tokens/out_mean"} {
		if m, ok := s.Metrics[metric]; ok {
			v[name] = m.Mean
		}
	}
	if g := s.Goodput; g != nil {
		v["goodput/requests_per_sec"], v["goodput/tokens_per_sec"], v["goodput/attainment"] = g.RequestsPerS,
			g.TokensPerS, g.Attainment
		for objective, share := range g.Attainments() {
			v["goodput/attainment_"+objective] = share
		}
	}
	return v
}

func addRates(v map[string]float64, s *report.StageResult) {
	for ours, theirs := range map[string]string{"request_rate": "throughput/throughput_requests_per_sec",
		"output_token_rate": "throughput/throughput_output_tokens_per_sec",
		"total_token_rate":  "throughput/total_tokens_per_second"} {
		if rate, ok := s.Rates[ours]; ok {
			v[theirs] = rate
		}
	}
	if offered := s.Rates["offered_rate"]; offered > 0 {
		v["client/achieved_rate_ratio"] = s.Rates["achieved_rate"] / offered
	}
}

func addLoad(v map[string]float64, s *report.StageResult) {
	if c := s.Planned.Concurrency; c > 0 {
		v["load/concurrency"], v["concurrency"] = float64(c), float64(c)
	}
	if r := rateOf(s); r > 0 {
		v["load/rate_rps"], v["rate"] = r, r
	}
}

func addStats(v map[string]float64, d series, m report.Metric) {
	for _, stat := range d.stats {
		value, ok := m.Quantiles[strings.Replace(stat, "median", "p50", 1)]
		if stat == "mean" {
			value, ok = m.Mean, true
		}
		if ok {
			v[fmt.Sprintf("%s_%s_%s", d.prefix, stat, d.suffix)] = value * d.factor
		}
	}
}

// params are immutable on the server, so they hold nothing that a second attempt would change.
func params(plan *runplan.RunPlan) []Pair {
	d := plan.Deployment
	target := plan.Target.Name
	if plan.Target.Open() { // tag bflow.target says which one it was
		target = contract.TargetAny
	}
	p := map[string]string{
		"target": target, "model": d.Model.Name, "model_revision": d.Model.Revision, "tp": strconv.Itoa(d.TensorParallel),
		"replicas": strconv.Itoa(d.Replicas), "version": plan.Sinks.MLflow.Version,
		"accelerator": plan.Sinks.MLflow.Tags["accelerator"],
		"engine":      d.Engine.Kind, "image": d.Engine.Image, "plan_hash": plan.Hash,
	}
	for i, m := range plan.Measurements {
		prefix := ""
		if len(plan.Measurements) > 1 {
			prefix = fmt.Sprintf("m%d/", i)
		}
		for k, v := range measurementParams(m) {
			p[prefix+k] = v
		}
	}
	for _, a := range plan.Axes {
		p["axis/"+key(a.Path)] = fmt.Sprint(a.Value)
	}
	return pairs(p, 6000)
}

func measurementParams(m runplan.Measurement) map[string]string {
	p := map[string]string{"benchmark_tool": m.Tool, "seed": strconv.FormatInt(m.Data.Seed, 10),
		"stages": strconv.Itoa(len(m.Stages)),
		"turns":  strconv.Itoa(m.Data.Turns), "backend_type": m.API.Type}
	if m.Data.Input != nil {
		p["prompt_tokens"] = number(m.Data.Input.Mean)
	}
	if m.Data.Output != nil {
		p["output_tokens"] = number(m.Data.Output.Mean)
	}
	var loads []string
	for _, s := range m.Stages {
		if s.Measure {
			p["profile_kind"] = s.Shape
			loads = append(loads, number(max(s.Rate, float64(s.Concurrency))))
		}
	}
	p["load_values"] = strings.Join(loads, ",")
	return p
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func tags(o Options, plan *runplan.RunPlan, end *report.Verdict) []Pair {
	d := plan.Deployment
	t := map[string]string{
		"benchmark_profile": plan.Measurements[0].Name, "deployment_profile": d.Profile, "deployment_type": d.Type(),
		"model": d.Model.Name, "version": plan.Sinks.MLflow.Version, "execution_name": o.RunID,
		"bflow.run": o.RunID, RunKeyTag: RunKey(o.RunID, plan), "bflow.plan_hash": plan.Hash,
		"bflow.attempt": strconv.Itoa(o.Attempt),
		VerdictTag:      end.Verdict, "bflow.verdict": end.Verdict,
		"bflow.valid":           strconv.FormatBool(end.Verdict != "invalid"),
		"bflow.invalid_reasons": strings.Join(end.Reasons, "; "), "bflow.target": plan.Target.Name,
		"bflow.release": runplan.Release(plan, o.RunID), "bflow.version": step.Version,
		"mlflow.runName": clip(o.RunID, 250), "mlflow.source.name": "bflow", "mlflow.source.type": "JOB",
		"mlflow.note.content": note(o, end),
	}
	if o.Parent != "" {
		t[ParentTag] = o.Parent
	}
	for k, v := range plan.Labels {
		t["label."+key(k)] = v
	}
	for k, v := range plan.Sinks.MLflow.Tags {
		t[key(k)] = v
	}
	return pairs(t, 8000)
}

// note is what the run page shows; only its first lines are seen at once.
func note(o Options, end *report.Verdict) string {
	text := fmt.Sprintf("**%s**", end.Verdict)
	if len(end.Reasons) > 0 {
		text += ": " + strings.Join(end.Reasons, "; ")
	}
	return text + fmt.Sprintf("\n\nRun `%s`, report under artifacts: `report/index.html`, numbers: `%s`.",
		o.RunID, contract.FileReport)
}

// pairs sorts m and drops what is empty; long values are cut as the server would cut them, and NUL is removed.
func pairs(m map[string]string, limit int) []Pair {
	var out []Pair
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if v := clip(strings.ReplaceAll(m[k], "\x00", ""), limit); v != "" {
			out = append(out, Pair{Key: k, Value: v})
		}
	}
	return out
}

// key maps any text to a key that every server takes: [A-Za-z0-9_./-], path-normal, at most 250 characters.
func key(s string) string {
	s = regexp.MustCompile(`[^A-Za-z0-9_./-]+`).ReplaceAllString(s, "_")
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '/' })
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "." || p == ".." })
	return cmp.Or(clip(strings.Join(parts, "/"), 250), "_")
}

package verdict

import (
	"fmt"
	"slices"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// DefaultErrorRate is the highest error rate of a stage whose experiment says nothing about errors.
const DefaultErrorRate = 0.01

// dropRate is the metric of the gate for requests that were never sent.
const dropRate = "drop_rate"

// Evidence is a pooled stage with what its summary does not hold.
type Evidence struct {
	Stage report.Stage
	// Values are the distributions behind the metrics; one that is nil has no interval.
	Values func(metric string) *report.Distribution
	// OutputPerSecond are the output tokens of each whole second of the windows.
	OutputPerSecond []float64
}

// Gates judges a measured stage by the objectives of slo, which may be nil, and by the default rule for errors where
// slo sets none. The order is fixed: latencies by name, then errors, throughput, goodput.
func Gates(slo *runplan.SLO, e Evidence) []report.Gate {
	var gates []report.Gate
	if slo == nil {
		slo = &runplan.SLO{}
	}
	for _, metric := range []string{"ttft", "itl", "tpot", "e2e"} {
		for _, quantile := range sortedKeys(slo.Latency[metric]) {
			gates = append(gates, latencyGate(e, metric, quantile, slo.Latency[metric][quantile]))
		}
	}
	if g, ok := errorGate(slo, e.Stage); ok {
		gates = append(gates, g)
	}
	if slo.MinThroughput != nil {
		gates = append(gates, throughputGate(e, *slo.MinThroughput))
	}
	if slo.Goodput != nil {
		gates = append(gates, goodputGate(e.Stage, slo.Goodput.Min))
	}
	for i := range gates {
		gates[i].Measurement, gates[i].Stage, gates[i].StageName = e.Stage.Measurement, e.Stage.Stage, e.Stage.Planned.Name
	}
	return gates
}

// judged is the metric by which an objective is judged: what starts at a send counts from the intended send, so that
// no wait is hidden.
func judged(objective string) string {
	switch objective {
	case "ttft", "e2e":
		return objective + "_intended"
	}
	return objective
}

func latencyGate(e Evidence, metric, quantile string, limit runplan.Duration) report.Gate {
	name := judged(metric)
	m, ok := e.Stage.Metrics[name]
	ok = ok && (quantile == "mean" || m.Has(quantile))
	g := report.Gate{Metric: metric, Quantile: quantile, Judged: name, Unit: "ms", Limit: limit.Seconds() * 1000, N: m.N}
	if !ok {
		g.Verdict = Inconclusive
		return g
	}
	value, within := m.Mean, meanInterval(m)
	if quantile != "mean" {
		value, within = m.Quantiles[quantile], interval{}
		if d := e.Values(name); d != nil {
			within = quantileInterval(d, percentOf(quantile))
		}
	}
	return decide(g, value, within)
}

func percentOf(quantile string) float64 {
	for _, q := range report.Quantiles {
		if q.Name == quantile {
			return q.P
		}
	}
	return 50
}

// errorGate reports false where goodput is the experiment's word about errors. Goodput does not know of requests that
// were dropped before they were sent, so the default rule holds for these also beside it.
func errorGate(slo *runplan.SLO, s report.Stage) (report.Gate, bool) {
	g := report.Gate{Metric: "error_rate", Unit: "share", Limit: DefaultErrorRate, Default: true}
	bad, n := Errors(s.Counts)
	if slo.ErrorRate != nil {
		g.Limit, g.Default = *slo.ErrorRate, false
	} else if slo.Goodput != nil {
		if bad = int64(s.Counts.ByStatus[report.StatusDropped]); bad == 0 {
			return g, false
		}
		g.Metric = dropRate
	}
	g.N = n
	if n == 0 {
		g.Verdict = Inconclusive
		return g, true
	}
	low, high := Wilson(bad, n)
	within := interval{&low, &high}
	if g.Default || bad == 0 { // what was seen decides: a rule for every short run cannot ask for hundreds of requests
		g = decide(g, float64(bad)/float64(n), interval{})
		g.Low, g.High = within.low, within.high
		return g, true
	}
	return decide(g, float64(bad)/float64(n), within), true
}

// Errors returns how many of the requests that count were errors, and how many count. Requests cut off by the end of
// the stage and cancelled ones count nowhere.
func Errors(c report.Counts) (bad, n int64) {
	bad = int64(c.Failed())
	return bad, bad + int64(c.ByStatus[report.StatusOK])
}

func throughputGate(e Evidence, limit float64) report.Gate {
	g := report.Gate{
		Metric: "output_token_rate", Unit: "tokens_per_s", Limit: limit, AtLeast: true,
		N: int64(e.Stage.Counts.ByStatus[report.StatusOK]),
	}
	rate, ok := e.Stage.Rates["output_token_rate"]
	if !ok {
		g.Verdict = Inconclusive
		return g
	}
	return decide(g, rate, rateInterval(e.OutputPerSecond))
}

func goodputGate(s report.Stage, limit float64) report.Gate {
	g := report.Gate{Metric: "goodput", Unit: "share", Limit: limit, AtLeast: true}
	if s.Goodput == nil || s.Goodput.Of == 0 {
		g.Verdict = Inconclusive
		return g
	}
	g.N = int64(s.Goodput.Of)
	low, high := Wilson(int64(s.Goodput.Good), g.N)
	g = decide(g, s.Goodput.Attainment, interval{&low, &high})
	if g.Verdict == Pass && len(s.Goodput.Unjudged()) > 0 {
		g.Verdict = Inconclusive
	}
	return g
}

// decide fills in value and verdict: an interval wholly on one side of the limit decides, one across it is
// inconclusive, and where a quantile has too few values for both ends of its interval the known end may still decide.
// A value that comes without any interval decides alone, unless it is a latency.
func decide(g report.Gate, value float64, within interval) report.Gate {
	g.Value, g.Low, g.High = &value, within.low, within.high
	low, high := within.low, within.high
	if low == nil && high == nil && g.Unit != "ms" {
		low, high = &value, &value
	}
	good, bad := high != nil && *high <= g.Limit, low != nil && *low > g.Limit
	if g.AtLeast {
		good, bad = low != nil && *low >= g.Limit, high != nil && *high < g.Limit
	}
	switch {
	case good:
		g.Verdict = Pass
	case bad:
		g.Verdict = Fail
	default:
		g.Verdict = Inconclusive
	}
	return g
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Name returns what a gate judges: "ttft p95", "error rate".
func Name(g report.Gate) string {
	name := strings.ReplaceAll(g.Metric, "_", " ")
	if g.Quantile != "" {
		name += " " + g.Quantile
	}
	return name
}

// Limit returns the limit of a gate with its direction: "≤ 500 ms".
func Limit(g report.Gate) string {
	if g.AtLeast {
		return "≥ " + Quantity(g.Limit, g.Unit)
	}
	return "≤ " + Quantity(g.Limit, g.Unit)
}

// Describe returns a gate as one short text: "ttft p95 ≤ 500 ms".
func Describe(g report.Gate) string { return Name(g) + " " + Limit(g) }

// Quantity returns a value of a gate with its unit, shares in percent.
func Quantity(v float64, unit string) string {
	switch unit {
	case "share":
		return fmt.Sprintf("%.4g %%", v*100)
	case "tokens_per_s":
		return fmt.Sprintf("%.4g tok/s", v)
	}
	return fmt.Sprintf("%.4g %s", v, unit)
}

// origin says from where a value counts that does not count from the send.
func origin(g report.Gate) string {
	if g.Value != nil && strings.HasSuffix(g.Judged, "_intended") {
		return " from the intended send"
	}
	return ""
}

// Measured returns the value of a gate with its unit and count, as people are told: "612 ms (n=1200)".
func Measured(g report.Gate) string {
	if g.Value == nil {
		return "not measured"
	}
	return fmt.Sprintf("%s (n=%d)", Quantity(*g.Value, g.Unit), g.N)
}

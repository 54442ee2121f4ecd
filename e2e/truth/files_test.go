package truth

import (
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/mlflow"
	tasks "bflow.dev/bflow/tasks/step"
)

func summaryCSV(t *testing.T, r finished) {
	f, err := os.Open(r.Path(contract.FileSummary))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil || len(lines) != 7 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	for _, line := range lines[1:] {
		column := map[string]string{}
		for i, name := range lines[0] {
			column[name] = line[i]
		}
		if column["measured"] != "true" {
			continue
		}
		stage, sample := int(number(t, column["stage_index"])), int(number(t, column["sample"]))
		want := recompute(r.parts[stage][sample:sample+1], objectives)
		for name, v := range map[string]float64{
			"requests": float64(want.total), "requests_ok": float64(want.status["ok"]), "error_rate": want.errorRate(),
			"request_rate_per_s": want.inWindow["request_rate"] / want.seconds, "ttft_p95_ms": linear(want.values["ttft"], 0.95),
			"ttft_intended_p99_ms": linear(want.values["ttft_intended"], 0.99), "tpot_p50_ms": linear(want.values["tpot"], 0.5),
			"e2e_mean_ms": mean(want.values["e2e"]), "slo_attainment": float64(want.good) / float64(want.of),
			"window_s":      want.seconds,
			"goodput_per_s": float64(want.good) / want.seconds, "itl_n": want.gaps,
			"tokens_out_mean": mean(want.values["tokens_out"]),
		} {
			near(t, fmt.Sprintf("%s of sample %d, stage %d", name, sample, stage), number(t, column[name]), v, 1e-9)
		}
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Error(err)
	}
	return v
}

// statistics are what the benchmark report says of one quantity.
type statistics struct {
	Units            string
	Mean, P50, P99   float64
	P0p1, P99p9, Max float64
}

func benchmarkReport(t *testing.T, r finished) {
	for stage := range measuredStages {
		var doc struct {
			Results struct {
				Performance struct {
					Aggregate struct {
						Requests            struct{ Total, Failures, Incomplete int }
						Latency, Throughput map[string]statistics
					}
				} `yaml:"request_performance"`
			}
		}
		text, err := os.ReadFile(r.Measurement(fmt.Sprintf("benchmark_report_v0.2,_stage_%d.yaml", stage)))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		got, want := doc.Results.Performance.Aggregate, recompute(r.parts[stage], objectives)
		bad := want.status["failed"] + want.status["timeout"] + want.status["empty"] + want.status["dropped"]
		if got.Requests.Total != want.total || got.Requests.Failures != bad || got.Requests.Incomplete != want.status["cut"] {
			t.Errorf("requests %+v, want %d, %d, %d", got.Requests, want.total, bad, want.status["cut"])
		}
		for theirs, ours := range map[string]string{"time_to_first_token": "ttft s", "request_latency": "e2e s",
			"time_per_output_token":            "tpot s/token",
			"normalized_time_per_output_token": "ntpot s/token"} {
			metric, units, _ := strings.Cut(ours, " ")
			inUnits(t, theirs, got.Latency[theirs], units, want.values[metric])
		}
		if itl := got.Latency["inter_token_latency"]; itl.Units != "s/token" {
			t.Errorf("inter_token_latency is in %q", itl.Units)
		}
		near(t, "inter_token_latency", got.Latency["inter_token_latency"].Mean, want.gapsMS/want.gaps/1000, 1e-9)
		for name, tolerance := range map[string]float64{"request_rate": 1e-9, "input_token_rate": 1e-9,
			"output_token_rate": want.outTolerance()} {
			near(t, name, got.Throughput[name].Mean, want.inWindow[name]/want.seconds, tolerance)
		}
		if u := got.Throughput["request_rate"].Units + " " +
			got.Throughput["output_token_rate"].Units; u != "queries/s tokens/s" {
			t.Errorf("rates are in %q", u)
		}
	}
}

func inUnits(t *testing.T, what string, got statistics, units string, ms []float64) {
	t.Helper()
	if got.Units != units {
		t.Errorf("%s is in %q, want %q", what, got.Units, units)
	}
	near(t, what+" mean", got.Mean, mean(ms)/1000, 1e-9)
	for q, v := range map[float64]float64{0.001: got.P0p1, 0.5: got.P50, 0.99: got.P99, 0.999: got.P99p9, 1: got.Max} {
		near(t, fmt.Sprint(what, " ", q), v, linear(ms, q)/1000, 1e-9)
	}
}

func gates(t *testing.T, r finished) {
	v, err := report.ReadVerdict(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Gates) != 5*len(measuredStages) {
		t.Errorf("%d gates", len(v.Gates))
	}
	for _, g := range v.Gates {
		want := recompute(r.parts[g.Stage], objectives)
		value, n := want.errorRate(), float64(len(want.values["e2e"]))
		switch g.Metric + " " + g.Quantile {
		case "ttft p90":
			value = linear(want.values["ttft_intended"], 0.9)
			if g.Judged != "ttft_intended" {
				t.Errorf("the gate for ttft says that it judges %q", g.Judged)
			}
		case "e2e p50":
			value = linear(want.values["e2e_intended"], 0.5)
		case "tpot mean":
			value, n = mean(want.values["tpot"]), float64(len(want.values["tpot"]))
		case "goodput ":
			value, n = float64(want.good)/float64(want.of), float64(want.of)
		case "error_rate ":
			n = float64(want.total - want.status["cut"])
		default:
			t.Errorf("gate for %s %s", g.Metric, g.Quantile)
		}
		where := fmt.Sprintf("gate %s %s of stage %d", g.Metric, g.Quantile, g.Stage)
		near(t, where, *g.Value, value, 1e-9)
		near(t, where+": n", float64(g.N), n, 0)
		holds := value <= g.Limit != g.AtLeast || value == g.Limit
		if g.Verdict == "pass" && !holds || g.Verdict == "fail" && holds {
			t.Errorf("%s: %v against %v is %s", where, value, g.Limit, g.Verdict)
		}
	}
}

func points(t *testing.T, r finished) {
	var replay mlflow.Replay
	if err := tasks.ReadJSON(r.Path(mlflow.ReplayFile), &replay); err != nil {
		t.Fatal(err)
	}
	for stage, step := range map[int]int64{1: 120, 2: 6} {
		var sent []map[string]float64 // one per sample
		for _, p := range replay.Points {
			if p.Step != step {
				continue
			}
			at := 0
			for at < len(sent) && hasKey(sent[at], p.Key) {
				at++
			}
			if at == len(sent) {
				sent = append(sent, map[string]float64{})
			}
			sent[at][p.Key] = p.Value
		}
		if len(sent) != 2 {
			t.Fatalf("stage %d: points of %d samples", stage, len(sent))
		}
		for sample, got := range sent {
			figures := recompute(r.parts[stage][sample:sample+1], objectives)
			for key, want := range expectedPoints(figures) {
				tolerance := 1e-9
				if key == "throughput/throughput_output_tokens_per_sec" {
					tolerance = figures.outTolerance()
				}
				near(t, fmt.Sprintf("%s of sample %d, stage %d", key, sample, stage), got[key], want, tolerance)
			}
		}
	}
}

func hasKey(m map[string]float64, key string) bool { _, ok := m[key]; return ok }

// expectedPoints are those with the old names: per-token latencies weigh a request by its tokens.
func expectedPoints(f figures) map[string]float64 {
	bad := f.status["failed"] + f.status["timeout"] + f.status["empty"] + f.status["dropped"]
	out := map[string]float64{
		"requests/total_requests": float64(f.total), "requests/successful_requests": float64(f.status["ok"]),
		"requests/failed_requests": float64(bad), "requests/error_rate": f.errorRate(),
		"requests/request_concurrency_mean":           f.inFlightSeconds / f.seconds,
		"throughput/throughput_requests_per_sec":      f.inWindow["request_rate"] / f.seconds,
		"throughput/throughput_output_tokens_per_sec": f.inWindow["output_token_rate"] / f.seconds,
		"throughput/total_input_tokens":               f.tokensIn,
		"e2e_latency/latency_mean_sec":                mean(f.values["e2e"]) / 1000,
		"e2e_latency/latency_p90_sec":                 linear(f.values["e2e"], 0.9) / 1000,
		"ttft/ttft_median_ms":                         linear(f.values["ttft"], 0.5),
		"ttft/ttft_intended_p99_ms":                   linear(f.values["ttft_intended"], 0.99),
		"tpot/ntpot_p95_ms":                           linear(f.values["ntpot"], 0.95),
		"tpot/tpot_excl_first_mean_ms":                mean(f.values["tpot"]),
		"itl/itl_gap_mean_ms":                         f.gapsMS / f.gaps,
		"tokens/in_mean":                              mean(f.values["tokens_in"]),
		"tokens/out_mean":                             mean(f.values["tokens_out"]),
		"goodput/attainment":                          float64(f.good) / float64(f.of),
		"goodput/attainment_ttft":                     float64(f.quick) / float64(f.of),
		"goodput/attainment_tpot":                     float64(f.paced) / float64(f.of-f.status["ok"]+len(f.values["tpot"])),
	}
	for name, values := range map[string][]float64{"tpot/tpot": f.perToken["tpot_incl"], "itl/itl": f.perToken["tpot"]} {
		out[name+"_mean_ms"] = mean(values)
		for stat, q := range map[string]float64{"median": 0.5, "p95": 0.95, "p99": 0.99} {
			out[name+"_"+stat+"_ms"] = step(values, q)
		}
	}
	return out
}

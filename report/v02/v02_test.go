package v02_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/reporttest"
	"bflow.dev/bflow/report/v02"
	"bflow.dev/bflow/report/write"
	"bflow.dev/bflow/runplan"
)

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open("testdata/br_v0_2.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("v02.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("v02.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// document reads YAML as its JSON would be read.
func document(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return out.(map[string]any)
}

// runs are synthetic runs that between them use every part of the mapping.
func runs() map[string]reporttest.Run {
	slo := &runplan.SLO{Goodput: &runplan.Goodput{Min: 0.9, TTFT: runplan.Duration(100 * time.Millisecond)}}
	return map[string]reporttest.Run{
		"healthy":        {},
		"three samples":  {Samples: 3},
		"with errors":    {Failing: 0.1, SLO: slo},
		"all failed":     {Failing: 1},
		"nothing at all": {NoResult: true},
		"engine restart": {Restart: true},
	}
}

// documents are the benchmark reports that collect writes for a run.
func documents(t *testing.T, run reporttest.Run) map[string]map[string]any {
	t.Helper()
	run.Length = 3 * time.Second
	dir := reporttest.Write(t, run)
	r, err := assemble.Report(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := write.All(t.Context(), dir, r); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "measurements/0/benchmark_report_v0.2,_stage_*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for _, path := range append(paths, filepath.Join(dir, "benchmark_report_v0.2.yaml")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(path)] = document(t, text)
	}
	return out
}

func TestTheExamplesAreValid(t *testing.T) {
	s := schema(t)
	for _, name := range []string{"br_v0_2_example.yaml", "guidellm_v2_stage0.yaml", "minimal.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		doc := document(t, bytes.ReplaceAll(text, []byte("concurrency: .inf"), nil)) // JSON has no infinity
		if err := s.Validate(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		stricter(t, name, doc)
	}
}

func TestWhatWeWriteIsValid(t *testing.T) {
	s := schema(t)
	for name, run := range runs() {
		t.Run(name, func(t *testing.T) {
			for file, doc := range documents(t, run) {
				if err := s.Validate(doc); err != nil {
					t.Errorf("%s: %v", file, err)
				}
				stricter(t, file, doc)
			}
		})
	}
}

// groups are the units that each kind of quantity may have; a field has one kind.
var groups = map[string][]string{
	"quantity": {"count", "pixels"}, "portion": {"percent", "fraction"}, "time": {"ms", "s"},
	"gen_latency": {"ms/token", "s/token"},
	"tokens":      {"tokens/s"}, "queries": {"queries/s"},
	"memory": {"bytes", "MB", "GB", "TB", "MiB", "GiB", "TiB"}, "power": {"Watts"},
}

var kinds = map[string]string{
	"input_length": "quantity", "output_length": "quantity", "time_to_first_token": "time", "request_latency": "time",
	"time_per_output_token": "gen_latency", "inter_token_latency": "gen_latency",
	"normalized_time_per_output_token": "gen_latency",
	"input_token_rate":                 "tokens", "output_token_rate": "tokens", "total_token_rate": "tokens",
	"request_rate": "queries",
	"drop_rate":    "portion", "kv_cache_usage": "portion", "cache_hit_rate": "portion", "gpu_cache_usage": "portion",
	"cpu_cache_usage": "portion",
	"gpu_utilization": "portion", "cpu_utilization": "portion", "gpu_memory_usage": "memory",
	"cpu_memory_usage": "memory", "storage_usage": "memory",
	"power_consumption": "power", "running_requests": "quantity", "waiting_requests": "quantity",
	"swapped_requests": "quantity", "preemptions": "quantity",
}

// stricter checks what the models refuse and the schema cannot say.
func stricter(t *testing.T, where string, doc map[string]any) {
	t.Helper()
	if doc["version"] != "0.2" {
		t.Errorf("%s: version %v", where, doc["version"])
	}
	walk(doc, "", func(path, key string, v any) {
		field, isField := kinds[key]
		if object, ok := v.(map[string]any); ok && isField && object["units"] != nil {
			if !contains(groups[field], object["units"]) {
				t.Errorf("%s: %s has units %v, want one of %v", where, path, object["units"], groups[field])
			}
		}
		if n, ok := v.(json.Number); ok {
			if f, err := n.Float64(); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
				t.Errorf("%s: %s is %v", where, path, n)
			}
		}
	})
	if load, ok := dig(doc, "scenario", "load", "standardized").(map[string]any); ok {
		atLeast(t, where, load["concurrency"], 1)
		if length, ok := load["input_seq_len"].(map[string]any); ok {
			atLeast(t, where, length["value"], 0)
		}
	}
}

func atLeast(t *testing.T, where string, v any, low float64) {
	t.Helper()
	if n, ok := v.(json.Number); ok {
		if f, err := n.Float64(); err != nil || f < low {
			t.Errorf("%s: %v is below %v", where, v, low)
		}
	}
}

func walk(v any, path string, visit func(path, key string, v any)) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			visit(path+"."+k, k, inner)
			walk(inner, path+"."+k, visit)
		}
	case []any:
		for i, inner := range v {
			walk(inner, fmt.Sprintf("%s[%d]", path, i), visit)
		}
	}
}

func contains(all []string, v any) bool {
	for _, one := range all {
		if one == v {
			return true
		}
	}
	return false
}

func dig(v any, keys ...string) any {
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

func TestTheNumbersAreThoseOfTheReport(t *testing.T) {
	dir := reporttest.Write(t, reporttest.Run{Length: 3 * time.Second, Failing: 0.1})
	r, err := assemble.Report(dir)
	if err != nil {
		t.Fatal(err)
	}
	m := &r.Measurements[0]
	s := &m.Pooled.Stages[2]
	d, err := v02.Convert(r, m, s)
	if err != nil {
		t.Fatal(err)
	}
	a := d.Results.RequestPerformance.Aggregate
	if got, want := *a.Latency["time_to_first_token"].P95,
		s.Metrics["ttft"].Quantiles["p95"]/1000; math.Abs(got-want) > 1e-12 {
		t.Errorf("time_to_first_token p95 %v s, want %v", got, want)
	}
	if got, want := a.Latency["inter_token_latency"].Mean, s.Metrics["itl"].Mean/1000; math.Abs(got-want) > 1e-12 {
		t.Errorf("inter_token_latency %v s/token, want %v", got, want)
	}
	if a.Requests.Failures != s.Counts.ByStatus[report.StatusFailed] || a.Requests.Total != s.Counts.Total {
		t.Errorf("requests %+v, want %+v", a.Requests, s.Counts)
	}
	if rate := a.Throughput["request_rate"]; rate.Units != "queries/s" ||
		rate.Mean != s.Rates["request_rate"] || rate.P50 != nil {
		t.Errorf("request_rate %+v", rate)
	}
	again, err := v02.Convert(r, m, s)
	if err != nil || again.Run.UID != d.Run.UID {
		t.Errorf("uid %q, then %q, %v", d.Run.UID, again.Run.UID, err)
	}
	other, err := v02.Convert(r, m, &m.Pooled.Stages[3])
	if err != nil || other.Run.UID == d.Run.UID || other.Run.EID != d.Run.EID {
		t.Errorf("another stage: uid %q, eid %q, %v", other.Run.UID, other.Run.EID, err)
	}
}

func TestEveryLoadHasAPlaceInTheScenario(t *testing.T) {
	dir := reporttest.Write(t, reporttest.Run{Length: time.Second})
	validator := schema(t)
	tests := []struct {
		name   string
		change func(m *runplan.Measurement, s *report.Stage)
		check  func(l v02.LoadStandard) bool
	}{
		{"streams are a whole number and a rate is absent", func(_ *runplan.Measurement, s *report.Stage) {
			s.Planned.Shape, s.Planned.Rate, s.Planned.Concurrency = runplan.ShapeClosed, 0, 8
		}, func(l v02.LoadStandard) bool { return l.Concurrency == 8 && l.RateQPS == 0 }},
		{"a throughput stage has neither", func(_ *runplan.Measurement, s *report.Stage) {
			s.Planned.Shape, s.Planned.Rate = runplan.ShapeThroughput, 0
		}, func(l v02.LoadStandard) bool { return l.Concurrency == 0 && l.RateQPS == 0 }},
		{"lengths of a trace are those measured", func(m *runplan.Measurement, _ *report.Stage) {
			m.Data = runplan.Data{Trace: &runplan.Trace{Format: "mooncake", URL: "file"}}
		}, func(l v02.LoadStandard) bool {
			return l.Source == "sampled" && l.InputSeqLen.Distribution == "other" && l.InputSeqLen.Value > 400
		}},
		{"prefixes and turns", func(m *runplan.Measurement, _ *report.Stage) {
			m.Data.Turns, m.Data.Prefixes = 3, []runplan.Prefix{
				{Weight: 1, Count: 4, Tokens: 1024}, {Weight: 1, Count: 2, Tokens: 256},
			}
		}, func(l v02.LoadStandard) bool {
			return l.MultiTurn.MaxTurns.Value == 3 && l.Prefix.NumGroups == 2 && l.Prefix.NumPrefixes == 6 &&
				l.Prefix.PrefixLen.Distribution == "other"
		}},
		{"a shape that the format lacks is other", func(m *runplan.Measurement, _ *report.Stage) {
			m.Data.Output = &runplan.Length{Shape: "lognormal", Mean: 100, Stdev: 50}
		}, func(l v02.LoadStandard) bool {
			return l.OutputSeqLen.Distribution == "other" && l.OutputSeqLen.StdDev == 50
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := assemble.Report(dir)
			if err != nil {
				t.Fatal(err)
			}
			s := &r.Measurements[0].Pooled.Stages[1]
			tt.change(&r.Plan.Measurements[0], s)
			d, err := v02.Convert(r, &r.Measurements[0], s)
			if err != nil {
				t.Fatal(err)
			}
			if !tt.check(d.Scenario.Load.Standardized) {
				t.Errorf("%+v", d.Scenario.Load.Standardized)
			}
			var text bytes.Buffer
			if err := v02.WriteJSON(&text, d); err != nil {
				t.Fatal(err)
			}
			doc := document(t, text.Bytes()) // JSON is YAML
			if err := validator.Validate(doc); err != nil {
				t.Error(err)
			}
			stricter(t, tt.name, doc)
		})
	}
}

package main

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/loadgen/external"
)

func TestJudge(t *testing.T) {
	tests := []struct {
		name         string
		better       better
		fair         float64
		mine, theirs float64
		have, has    bool
		ratio        string
		behind       bool
	}{
		{"more is better", more, 0, 200, 100, true, true, "2x", false},
		{"a peer does more", more, 0, 100, 200, true, true, "0.5x", true},
		{"a difference of noise is no lead", more, 0, 98, 100, true, true, "0.98x", false},
		{"less is better", less, 0, 1, 3, true, true, "3x", false},
		{"both are below what can be told apart", less, 0.1, 0.09, 0.01, true, true, "1x", false},
		{"nothing on both sides", less, 0, 0, 0, true, true, "even", false},
		{"nothing against something", less, 0, 0, 2, true, true, "inf", false},
		{"something against nothing", less, 0, 2, 0, true, true, "0x", true},
		{"right against wrong", yes, 0, 1, 0, true, true, "", false},
		{"wrong against right", yes, 0, 0, 1, true, true, "", true},
		{"what a peer does not say cannot be ahead", less, 0, 5, 0, true, false, "-", false},
		{"what we do not say is behind", less, 0, 0, 5, false, true, "-", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ratio, behind := figure{better: tt.better, fair: tt.fair}.judge(tt.mine, tt.have, tt.theirs, tt.has)
			if ratio != tt.ratio || behind != tt.behind {
				t.Errorf("%q behind %v, want %q %v", ratio, behind, tt.ratio, tt.behind)
			}
		})
	}
}

func TestProcessorTimeOfStartingDoesNotCount(t *testing.T) {
	c := cpuCurve{{0, 0}, {1e9, 5 * time.Second}, {2e9, 6 * time.Second}, {3e9, 9 * time.Second}}
	if got := c.between(1.5e9, 2.5e9); got != 2*time.Second {
		t.Errorf("%v, want 2s: half of the second from 1 to 2 and half of that from 2 to 3", got)
	}
}

func TestLatenessIsAgainstAnEvenSchedule(t *testing.T) {
	c := &cell{load: load{rate: 100}}
	for i := range 100 {
		at := int64(i) * 1e7
		if i%50 == 1 {
			at += 3e6
		}
		c.log = append(c.log, sim.Record{Arrival: 7e9 + at})
	}
	p50, _ := lateness(50)(c)
	worst, _ := lateness(100)(c)
	if math.Abs(p50) > 1e-6 || math.Abs(worst-3) > 1e-6 {
		t.Errorf("p50 %v, worst %v", p50, worst)
	}
}

// write puts the files of a tool into a folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWhatGuideLLMSays(t *testing.T) {
	c, err := readGuide(write(t, map[string]string{"benchmarks.json": `{"benchmarks": [{"warnings": [{"code": "root_late"}],
		"metrics": {"request_totals": {"successful": 2, "incomplete": 1, "errored": 3}, "inter_token_latency_ms": {"successful": {"percentiles": {"p99": 10.5}}}},
		"requests": {"successful": [{"response_id": "chatcmpl-a", "time_to_first_token_ms": 21.5}]}}]}`}))
	if err != nil || c.ok != 2 || c.cut != 1 || c.errors != 3 || c.itlP99 != 10.5 || !c.summary || c.gaps ||
		c.noticedLengths {
		t.Errorf("%+v, %v", c, err)
	}
	if r := c.rows[0]; r.ID != "a" || *r.TFirst-*r.TSend != 21_500_000 {
		t.Errorf("row %+v", r)
	}
}

func TestWhatInferencePerfSays(t *testing.T) {
	c, err := readInference(write(t, map[string]string{
		"summary_lifecycle_metrics.json": `{"successes": {"count": 1, "token_count_mismatches": 0, "latency": ` +
			`{"inter_token_latency": {"p99": 0.011}}}, "failures": {"count": 1}}`,
		"per_request_lifecycle_metrics.json": `[{"start_time": 10, "response": "data: {\"id\":\"cmpl-b\"}", "error": null, "info": {"response_metrics": {"output_token_times": [10.02, 10.03]}}},
			{"start_time": 11, "response": "", "error": {"error_type": "x"}}]`}))
	if err != nil || c.ok != 1 || c.errors != 1 || math.Abs(c.itlP99-11) > 1e-9 || len(c.rows) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	if r := c.rows[0]; r.ID != "b" || len(r.Gaps) != 1 || r.Gaps[0] < 9998 || r.Gaps[0] > 10001 {
		t.Errorf("row %+v", r)
	}
}

func TestWhatAIPerfSays(t *testing.T) {
	rows := `{"metadata": {"x_request_id": "w", "benchmark_phase": "warmup"}, "metrics": {}}
{"metadata": {"x_request_id": "c", "benchmark_phase": "profiling"}, "metrics": {"time_to_first_token": {"value": 30}, "inter_chunk_latency": {"value": [10, 12]}}}
{"metadata": {"x_request_id": "d", "benchmark_phase": "profiling"}, "metrics": {}, "error": {"code": 500}}
{"metadata": {"x_request_id": "e", "benchmark_phase": "profiling", "was_cancelled": true}, "metrics": {}}
`
	c, err := readAIPerf(write(t, map[string]string{"profile_export.jsonl": rows}))
	if err != nil || c.ok != 1 || c.errors != 1 || c.cut != 1 || c.summary || len(c.rows) != 1 ||
		len(c.rows[0].Gaps) != 2 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestAToolWithoutResultsClaimsNothing(t *testing.T) {
	for name, read := range map[string]func(string) (claims, error){"guidellm": readGuide, "aiperf": readAIPerf,
		"inference-perf": readInference} {
		if c, err := read(t.TempDir()); err != nil || c.summary || c.ok != 0 {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// Every load can be said in the words of every tool.
func TestBlocks(t *testing.T) {
	for _, name := range []string{"guidellm", "aiperf", "inference-perf"} {
		p, err := newPeer(&lab{}, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range loads() {
			plan := tool.Invocation{Measurement: &runplan.Measurement{Tool: name, External: p.block(p, of)}, Program: "/p",
				Dir: "/d"}
			if commands, err := external.Build(plan); err != nil || len(commands) != 1 {
				t.Errorf("%s, %s: %d commands, %v", name, of.name, len(commands), err)
			}
		}
	}
	if _, err := newPeer(&lab{}, "wrk"); err == nil {
		t.Error("an unknown tool is known")
	}
}

func TestTableCountsTheLinesWhereAPeerIsAhead(t *testing.T) {
	p, err := newPeer(&lab{}, "aiperf")
	if err != nil {
		t.Fatal(err)
	}
	good := &cell{outcome: outcome{claims: claims{summary: true, errors: 3}}, log: []sim.Record{{}}}
	bad := &cell{outcome: outcome{claims: claims{summary: true, ok: 3}}, log: []sim.Record{{}}}
	failed := &cell{err: errors.New("no tokenizer")}
	cells := map[string]map[string]*cell{"error_event": {"load-gen": bad, "aiperf": good},
		"truncated": {"load-gen": good, "aiperf": bad},
		"http_500":  {"load-gen": good, "aiperf": failed}}
	var out strings.Builder
	if n := table(&out, []client{&own{}, p}, cells, map[string]string{"guidellm": "no Python"}); n != 1 {
		t.Errorf("ahead on %d lines", n)
	}
	for _, want := range []string{"BEHIND aiperf", "guidellm was skipped: no Python", "http_500, aiperf: no tokenizer",
		"ahead on 1 lines"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}

package export_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/reporttest"
	"bflow.dev/bflow/report/tools"
)

// documents are the lines of an NDJSON export.
func documents(t *testing.T, text string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for line := range strings.Lines(text) {
		var doc map[string]any
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Fatal(err)
		}
		out = append(out, doc)
	}
	return out
}

func TestOpenSearchHasASummaryPerSampleAndStageAndADocumentPerRequest(t *testing.T) {
	run := built(t, reporttest.Run{Rates: []float64{20, 40}, Samples: 2, Failing: .1})
	summaries, requests, ids := 0, 0, map[string]bool{}
	for _, doc := range documents(t, exported(t, "opensearch", run)) {
		ids[doc["_id"].(string)] = true
		switch doc["doc_type"] {
		case "summary":
			summaries++
		case "request":
			requests++
			if _, has := doc["request_latency_seconds"]; has == doc["errored"].(bool) {
				t.Fatalf("request %v", doc)
			}
			if doc["sample"] != "0" && doc["sample"] != "1" {
				t.Fatalf("sample %v", doc["sample"])
			}
		}
	}
	want := 0
	for _, s := range run.Report.Measurements[0].Pooled.Stages[1:] {
		want += s.Counts.Total
	}
	if summaries != 4 || requests != want || len(ids) != 4+want {
		t.Errorf("%d summaries, %d of %d requests, %d ids", summaries, requests, want, len(ids))
	}
	again := documents(t, exported(t, "opensearch", run))
	if !ids[again[0]["_id"].(string)] {
		t.Error("the same document has another id the second time")
	}
	bulk := documents(t, exported(t, "opensearch-bulk", run))
	if len(bulk) != 2*len(ids) || bulk[0]["index"].(map[string]any)["_id"] != again[0]["_id"] {
		t.Errorf("%d lines of bulk for %d documents", len(bulk), len(ids))
	}
}

// TestTheVectorOfOneRequest is that of the facts: n 128, in 124, ttft 1014.298677 ms, e2e 2.3312907219 s.
func TestTheVectorOfOneRequest(t *testing.T) {
	in, out := 124, 128
	ns := func(ms float64) *int64 { v := int64(math.Round(ms * 1e6)); return &v }
	r := report.Row{Status: report.StatusOK, TSend: ns(0), TFirst: ns(1014.298677),
		TLast: ns(1014.298677 + 1316.957954), TEnd: ns(2331.2907219),
		TokensIn: &in, TokensOut: &out}
	for metric, want := range map[string]float64{"total_rate_user": 108.094627, "output_rate_user": 54.905207,
		"tpot": 10.369748, "tpot_over_n": 10.288734} {
		if v, ok := tools.Numbers()[metric](&r); !ok || math.Abs(v-want) > 1e-5 {
			t.Errorf("%s is %v, want %v", metric, v, want)
		}
	}
}

func TestGuideLLMWeighsByTokens(t *testing.T) {
	run := built(t, reporttest.Run{Rates: []float64{20}})
	var doc map[string]any
	if err := json.Unmarshal([]byte(exported(t, "guidellm", run)), &doc); err != nil {
		t.Fatal(err)
	}
	b := doc["benchmarks"].([]any)[0].(map[string]any)
	itl := b["metrics"].(map[string]any)["inter_token_latency_ms"].(map[string]any)["successful"].(map[string]any)
	sum, n := 0.0, 0.0
	for _, row := range b["requests"].(map[string]any)["successful"].([]any) {
		row := row.(map[string]any)
		w := row["output_tokens"].(float64) - 1
		sum, n = sum+w*row["inter_token_latency_ms"].(float64), n+w
	}
	if math.Abs(itl["mean"].(float64)-sum/n) > 1e-9 || itl["count"].(float64) != n {
		t.Errorf("mean %v of %v, want %v of %v", itl["mean"], itl["count"], sum/n, n)
	}
}

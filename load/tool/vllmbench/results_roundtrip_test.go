package vllmbench

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/report/tools/structtest"
)

// again reads results and returns what is written of them, and what was read.
func again(t *testing.T, path string, lines bool) (written, original []byte) {
	t.Helper()
	doc, original := structtest.Document(t, path, isLong)
	all, err := doc.Split(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var results []*result
	for i := range all {
		r, err := read(&all[i])
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	if lines {
		return structtest.Written(t, tools.JSONLines("", tools.StreamOf(results))), original
	}
	return structtest.Written(t, tools.JSON("", results[0])), original
}

// detailed has every member that `vllm bench serve --save-detailed` writes, those of a person's --metadata included.
const detailed = `{"date":"20261121-101500","endpoint_type":"openai-chat","backend":"openai-chat","label":null,
"model_id":"m","tokenizer_id":"m","num_prompts":3,"team":"search","request_rate":"inf","burstiness":1.0,
"max_concurrency":2,"duration":2.0,"completed":2,"failed":1,"total_input_tokens":20,"total_output_tokens":7,
"request_throughput":1.0,"request_goodput":null,"output_throughput":3.5,"total_token_throughput":13.5,
"max_output_tokens_per_s":4.0,"max_concurrent_requests":2,"mean_ttft_ms":55.0,"median_ttft_ms":55.0,"std_ttft_ms":5.0,
"p99_ttft_ms":59.9,"p99.9_ttft_ms":60.0,"mean_tpot_ms":10.0,"median_tpot_ms":10.0,"std_tpot_ms":0.0,"p99_tpot_ms":10.0,
"input_lens":[10,10,10],"output_lens":[4,3,0],"ttfts":[0.05,0.06,0],"itls":[[0.01,0.01,0.01],[0.01,0.012],[]],
"start_times":[100.5,100.6,100.7],"generated_texts":["a","b",""],"errors":["","","Traceback: asyncio.TimeoutError"]}`

func TestAResultIsWrittenAsItWasRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(path, []byte(detailed), 0o644); err != nil {
		t.Fatal(err)
	}
	written, _ := again(t, path, false)
	structtest.Compare(t, []byte(detailed), written, nil)
}

// TestWhatWeWriteIsReadWhole: nothing of our own files is lost, to the byte.
func TestWhatWeWriteIsReadWhole(t *testing.T) {
	for _, format := range []string{"vllm-bench", "vllm-bench-detailed"} {
		t.Run(format, func(t *testing.T) {
			path := "../../../report/export/testdata/golden/" + format + "/vllm-bench.json"
			written, _ := again(t, path, true)
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(written, want) {
				t.Errorf("%s\nwant\n%s", written, want)
			}
		})
	}
}

func TestFilesAreNamedAsByTheTool(t *testing.T) {
	unlimited := requestRate(&tools.Stage{Stage: &report.Stage{}})
	for want, r := range map[string]result{
		"openai-20.0qps-m-7B-20261122-004201.json": {Backend: "openai", Rate: 20, Model: "org/m-7B"},
		"openai-chat-0.5qps-concurrency8-m-20261122-004201.json": {Backend: "openai-chat", Rate: .5, Model: "m",
			Concurrency: new(8.0)},
		"openai-infqps-concurrency1000-m-20261122-004201.json": {Backend: "openai", Rate: unlimited, Model: "m",
			Concurrency: new(1000.0)},
		"mine-20.0qps-m-20261122-004201.json": {Backend: "openai", Rate: 20, Model: "m",
			Extras: tools.FreeTexts(map[string]string{"backend": "mine"})},
	} {
		r.Date = "20261122-004201"
		if got := r.fileName(); got != want {
			t.Errorf("%+v is named %q, want %q", r, got, want)
		}
	}
}

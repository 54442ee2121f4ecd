package vllmbench_test

import (
	"testing"

	"bflow.dev/bflow/report/imports/importstest"
)

const vllm = `{"date":"20261121-101500","endpoint_type":"openai-chat","backend":"openai-chat","label":null,"model_id":"m","tokenizer_id":"m","num_prompts":3,
"request_rate":"inf","burstiness":1.0,"max_concurrency":2,"duration":2.0,"completed":2,"failed":1,"total_input_tokens":20,"total_output_tokens":7,
"request_throughput":1.0,"request_goodput":null,"output_throughput":3.5,"total_token_throughput":13.5,"max_output_tokens_per_s":4.0,
"mean_ttft_ms":55.0,"median_ttft_ms":55.0,"std_ttft_ms":5.0,"p99_ttft_ms":59.9,"p99.9_ttft_ms":60.0,"mean_tpot_ms":10.0,"median_tpot_ms":10.0,"std_tpot_ms":0.0,"p99_tpot_ms":10.0`

func FuzzRead(f *testing.F) {
	f.Add([]byte(vllm + "}"))
	f.Add([]byte(vllm + `,"input_lens":[10,10,10],"output_lens":[4,3,0],"ttfts":[0.05,0.06,0],` +
		`"itls":[[0.01,0.01,0.01],[0.01,0.012],[]],"start_times":[100.5,100.6,100.7],"errors":["","","x"]}`))
	f.Fuzz(func(t *testing.T, data []byte) { importstest.Read(t, "vllm-bench", "result.json", data) })
}

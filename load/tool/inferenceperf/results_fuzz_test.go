package inferenceperf_test

import (
	"testing"

	"bflow.dev/bflow/report/imports/importstest"
)

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"benchmark_time_seconds":1.0,"load_summary":{"count":10,"schedule_delay":{"mean":0.09,"min":0,"max":0.2,"median":0.1},"requested_rate":4},"successes":{"count":9,
"latency":{"request_latency":{"mean":0.1}},"throughput":{"requests_per_sec":9},"prompt_tokens":{"total":90}},"failures":{"count":1,"by_label":{"500 - Internal Server Error":{"count":1}}}}`))
	f.Add([]byte(`[{"start_time":1.0,"end_time":2.0,"info":{"input_tokens":3}}]`))
	f.Fuzz(func(t *testing.T, data []byte) { importstest.Read(t, "inference-perf", "summary.json", data) })
}

package guidellm_test

import (
	"testing"

	"bflow.dev/bflow/report/imports/importstest"
)

const report031 = `{"benchmarks":[{"run_stats":{"start_time":1e9,"end_time":1000000010,"requests_made":{"successful":0,"errored":1,"incomplete":0,"total":1}},
	"metrics":{},"request_totals":{"successful":0,"errored":1,"incomplete":0,"total":1},"args":{"strategy":{"type_":"constant","rate":2}},
	"worker":{"backend_target":"http://user:pw@h:1","backend_model":"m","backend_info":{"headers":{"Authorization":"Bearer s3cret"}}},
	"requests":{"successful":[],"incomplete":[],"errored":[{"type_":"generative_text_error","request_id":"a","prompt_tokens":64,"output_tokens":64,
	"start_time":1000000001,"end_time":1000000002,"first_token_time":null,"error":"boom"}]}}]}`

const report2 = `"benchmarks":[{"config":{"strategy":{"type_":"constant","rate":2}},"scheduler_metrics":{"start_time":1e9,"request_start_time":1e9,
	"measure_start_time":1e9,"measure_end_time":1000000010,"end_time":1000000010,"requests_made":{"total":30}},"scheduler_state":{},
	"metrics":{"request_totals":{"successful":20,"errored":0,"incomplete":1,"total":21},"time_to_first_token_ms":{"successful":{"mean":7,"count":20,"std_dev":1,"min":5,"max":9,"total_sum":140,
	"percentiles":{"p001":5,"p50":7,"p999":9}}}},"requests":{"successful":[],"errored":[],"incomplete":[]}}]}`

func FuzzRead(f *testing.F) {
	f.Add([]byte(report031))
	f.Add([]byte(`{"metadata":{"version":2,"guidellm_version":"0.7.3"},"config":{},` + report2))
	f.Fuzz(func(t *testing.T, data []byte) { importstest.Read(t, "guidellm", "benchmarks.json", data) })
}

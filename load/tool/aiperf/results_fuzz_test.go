package aiperf_test

import (
	"testing"

	"bflow.dev/bflow/report/imports/importstest"
)

const lineAIPerf = `{"metadata":{"x_request_id":"a","conversation_id":"c","turn_index":0,"credit_issued_ns":1795227845868324000,"request_start_ns":1795227845884036600,
"request_end_ns":1795227846018224600,"benchmark_phase":"profiling","was_cancelled":false},"metrics":{"request_latency":{"value":134.18804,"unit":"ms"},"time_to_first_token":{"value":62.1,"unit":"ms"},
"output_sequence_length":{"value":8,"unit":"tokens"},"inter_chunk_latency":{"value":[9.2,10.1],"unit":"ms"}}}`

func FuzzRead(f *testing.F) {
	f.Add([]byte(lineAIPerf))
	f.Add([]byte(`{"aiperf_version":"0.13.0","start_time":"2026-11-21T02:24:05.855391","end_time":"2026-11-21T02:24:06.177567","request_count":{"unit":"requests","avg":4},
"time_to_first_token":{"unit":"ms","avg":60,"p1":53,"p50":58,"min":50,"max":70,"std":6,"count":4,"sum":240},"input_config":{"phases":[{"kind":"profiling","type":"poisson","rate":2}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) { importstest.Read(t, "aiperf", "profile.json", data) })
}

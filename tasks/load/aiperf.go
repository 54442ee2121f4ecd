package load

import (
	"strings"
	"time"

	"bflow.dev/bflow/tasks/runplan"
)

// aiperfOnly are flags of `aiperf profile` that the native generator does not have.
func aiperfOnly() []string {
	return []string{
		"prefill_concurrency", "request_rate_series", "user_centric_rate", "num_users", "seq_dist", "random_range_ratio",
		"shared_system_prompt_length", "user_context_prompt_length", "request_cancellation_rate", "request_cancellation_delay",
		"warmup_duration", "num_warmup_sessions", "warmup_concurrency", "warmup_request_rate", "max_context_length", "scenario",
		"hf_weka_repo", "conversation_turn_delay_stddev", "conversation_turn_delay_stdev", "slice_duration", "accuracy_benchmark", "num_workers",
	}
}

// aiperfQuiet are flags that change nothing that is measured.
func aiperfQuiet() []string {
	return []string{
		"use_server_token_count", "per_chunk_usage", "tokenizer", "tokenizer_revision", "tokenizer_trust_remote_code", "export_level",
		"export_http_trace", "profile_export_prefix", "profile_export_file", "use_legacy_max_tokens", "ui", "ui_type", "verbose", "extra_verbose",
		"log_level", "workers_max", "workers_min", "record_processors", "connection_reuse_strategy", "gpu_telemetry", "server_metrics",
	}
}

func (t *translator) aiperf() {
	t.m.API = runplan.API{VerifyTLS: true, Timeout: runplan.Duration(6 * time.Hour)}
	if t.over.rates.set() {
		t.over.rates.errorf("has no meaning for aiperf: set concurrency or request_rate in the profile")
	}
	f := t.block.fields()
	if !t.block.set() {
		t.block.errorf("needs an aiperf block")
		return
	}
	t.aiperfAPI(f)
	t.aiperfData(f)
	t.aiperfStages(f)
	if n := f.get("num_profile_runs"); n.set() {
		n.notef("has no effect: say matrix.repeat or execution.samples")
	}
	f.noted(setByRunner, "url", "model", "model_names", "output_artifact_dir", "artifact_dir")
	f.ignore(aiperfQuiet()...)
	f.toolOnly(aiperfOnly()...)
	f.close()
}

func (t *translator) aiperfAPI(f *fields) {
	kind := f.must("endpoint_type")
	path := f.get("endpoint_path", "endpoint", "custom_endpoint")
	if t.over.requestType.set() {
		kind, path = t.over.requestType, value{}
	}
	t.m.API.Stream = f.get("streaming").booleanOr(true)
	t.setAPI(kind.requestType(runplan.APIChat), path)
	t.apiKey(f.get("api_key"), f.get("api_key").text())
	for _, h := range f.get("header", "headers").items() {
		t.headers(h.colonPairs())
	}
	for _, x := range f.get("extra_inputs").items() {
		t.aiperfExtra(x.colonPairs())
	}
	if d := f.get("request_timeout_seconds"); d.set() {
		t.m.API.Timeout = d.positiveSeconds()
	}
	for _, e := range f.get("goodput").items() {
		t.goodputPairs(e, time.Millisecond)
	}
	t.aiperfVerify()
}

// aiperfVerify follows the tool's own switch for certificates.
func (t *translator) aiperfVerify() {
	if strings.EqualFold(t.m.Env["AIPERF_HTTP_SSL_VERIFY"], "false") {
		t.m.API.VerifyTLS = false
	}
}

func (t *translator) aiperfExtra(v value) {
	for _, e := range v.fields().entries {
		if e.key == "ignore_eos" {
			t.m.API.ExactOutput = e.value.boolean()
			continue
		}
		t.body(e.key, e.value.any())
	}
}

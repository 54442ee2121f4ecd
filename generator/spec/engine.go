package spec

import "time"

// Engine is the server under test. Nothing is filled in: the experiment's engine is merged over the profile's first.
type Engine struct {
	Kind        string   `json:"kind,omitempty" enum:"vllm|sglang|triton|tgi|sim|llm-d-inference-sim|command" implied:"vllm" doc:"kind of model server"`
	Image       string   `json:"image,omitempty" is:"image" doc:"container image"`
	Command     []string `json:"command,omitempty" doc:"program and leading arguments for kind command; $(port) and $(model) are substituted"`
	Args        []string `json:"args,omitempty" doc:"arguments"`
	Port        *int     `json:"port,omitempty" min:"1" max:"65535" implied:"8000; tgi 8080" doc:"port of the API"`
	HealthPath  string   `json:"health_path,omitempty" is:"abspath" implied:"/health; triton /v2/health/ready" doc:"path of the readiness check"`
	MetricsPath string   `json:"metrics_path,omitempty" is:"abspath" implied:"/metrics" doc:"path of the Prometheus metrics"`
	Sim         *Sim     `json:"sim,omitempty" doc:"timing and faults for kind sim"`
}

// Sim configures the simulated engine. Without the two rates its timing is exact.
type Sim struct {
	TTFT              *time.Duration `json:"ttft,omitempty" zero:"true" doc:"time to first token"`
	TTFTStdev         *time.Duration `json:"ttft_stdev,omitempty" zero:"true" doc:"standard deviation of ttft"`
	ITL               *time.Duration `json:"itl,omitempty" zero:"true" doc:"inter-token latency"`
	ITLStdev          *time.Duration `json:"itl_stdev,omitempty" zero:"true" doc:"standard deviation of itl"`
	MaxNumSeqs        *int           `json:"max_num_seqs,omitempty" min:"1" doc:"requests processed at the same time"`
	MaxModelLen       *int           `json:"max_model_len,omitempty" min:"1" unit:"tokens" doc:"most tokens per request"`
	Seed              *int64         `json:"seed,omitempty" doc:"random seed"`
	FailureRate       *float64       `json:"failure_rate,omitempty" min:"0" max:"1" doc:"share of requests that fail"`
	PrefillTokensPerS *float64       `json:"prefill_tokens_per_s,omitempty" above:"0" unit:"tokens/s" doc:"prefill throughput of the batch"`
	DecodeTokensPerS  *float64       `json:"decode_tokens_per_s,omitempty" above:"0" unit:"tokens/s" doc:"decode throughput of the batch"`
	KVTokens          *int           `json:"kv_tokens,omitempty" min:"1" unit:"tokens" doc:"capacity of the KV cache"`
	PrefixCache       *bool          `json:"prefix_cache,omitempty" doc:"reuse shared prefixes"`
	Startup           *time.Duration `json:"startup,omitempty" zero:"true" doc:"delay before the port opens"`
	NotReady          *time.Duration `json:"not_ready,omitempty" zero:"true" doc:"how long the health path then answers 503"`
	Faults            []Fault        `json:"faults,omitempty" doc:"faults to inject"`
}

// Fault is one misbehaviour of the simulated engine.
type Fault struct {
	Kind     string        `json:"kind" req:"true" doc:"kind of the fault"`
	Share    *float64      `json:"share,omitempty" min:"0" max:"1" implied:"1" doc:"share of requests affected"`
	After    time.Duration `json:"after,omitempty" zero:"true" doc:"start of the fault, after the engine became ready"`
	Duration time.Duration `json:"duration,omitempty" implied:"until the end" doc:"how long the fault lasts"`
}

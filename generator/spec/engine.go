package spec

import "time"

// Engine is the server under test. Nothing is filled in: the experiment's engine is merged over the profile's first.
type Engine struct {
	Kind        string   `json:"kind,omitempty" enum:"vllm|sglang|triton|tgi|sim|command" implied:"vllm" doc:"server program"`
	Image       string   `json:"image,omitempty" is:"image" doc:"container image"`
	Command     []string `json:"command,omitempty" doc:"program and first arguments of kind command; $(port) and $(model) are replaced"`
	Args        []string `json:"args,omitempty" doc:"arguments"`
	Port        *int     `json:"port,omitempty" min:"1" max:"65535" implied:"8000; tgi 8080" doc:"port of the API"`
	HealthPath  string   `json:"health_path,omitempty" is:"abspath" implied:"/health; triton /v2/health/ready" doc:"readiness path"`
	MetricsPath string   `json:"metrics_path,omitempty" is:"abspath" implied:"/metrics" doc:"path of Prometheus metrics"`
	Sim         *Sim     `json:"sim,omitempty" doc:"kind sim: timing and faults"`
}

// Sim configures the simulated engine. Without the two rates its timing is exact.
type Sim struct {
	TTFT              *time.Duration `json:"ttft,omitempty" zero:"true" doc:"time to first token"`
	TTFTStdev         *time.Duration `json:"ttft_stdev,omitempty" zero:"true" doc:"its standard deviation"`
	ITL               *time.Duration `json:"itl,omitempty" zero:"true" doc:"time between tokens"`
	ITLStdev          *time.Duration `json:"itl_stdev,omitempty" zero:"true" doc:"its standard deviation"`
	MaxNumSeqs        *int           `json:"max_num_seqs,omitempty" min:"1" doc:"requests served at once"`
	MaxModelLen       *int           `json:"max_model_len,omitempty" min:"1" unit:"tokens" doc:"longest request"`
	Seed              *int64         `json:"seed,omitempty" doc:"seed of every random choice"`
	FailureRate       *float64       `json:"failure_rate,omitempty" min:"0" max:"1" doc:"share of requests that fail"`
	PrefillTokensPerS *float64       `json:"prefill_tokens_per_s,omitempty" above:"0" unit:"tokens/s" doc:"prefill speed of the batch"`
	DecodeTokensPerS  *float64       `json:"decode_tokens_per_s,omitempty" above:"0" unit:"tokens/s" doc:"decode speed of the batch"`
	KVTokens          *int           `json:"kv_tokens,omitempty" min:"1" unit:"tokens" doc:"size of the KV cache"`
	PrefixCache       *bool          `json:"prefix_cache,omitempty" doc:"reuse shared prefixes"`
	Startup           *time.Duration `json:"startup,omitempty" zero:"true" doc:"delay before the port is open"`
	NotReady          *time.Duration `json:"not_ready,omitempty" zero:"true" doc:"then 503 on the health path for this long"`
	Faults            []Fault        `json:"faults,omitempty" doc:"misbehaviour"`
}

// Fault is one misbehaviour of the simulated engine.
type Fault struct {
	Kind     string        `json:"kind" req:"true" doc:"what goes wrong"`
	Share    *float64      `json:"share,omitempty" min:"0" max:"1" implied:"1" doc:"share of requests"`
	After    time.Duration `json:"after,omitempty" zero:"true" doc:"since the engine was ready"`
	Duration time.Duration `json:"duration,omitempty" implied:"until the end" doc:"how long"`
}

package spec

import "time"

// Matrix adds axes and says how points run.
type Matrix struct {
	Axes        []AxisDecl     `json:"axes,omitempty" doc:"lists of values by dotted path; the last axis varies fastest"`
	Zip         [][]string     `json:"zip,omitempty" doc:"groups of axes that advance together"`
	Exclude     []PartialPoint `json:"exclude,omitempty" doc:"points to drop: those that match all entries"`
	Include     []PartialPoint `json:"include,omitempty" doc:"points to append; a missing axis takes its first value"`
	Repeat      int            `json:"repeat,omitempty" default:"1" min:"1" doc:"repetitions of each point, run in rounds"`
	Order       string         `json:"order,omitempty" default:"sequential" enum:"sequential|shuffled" doc:"order of the points"`
	Seed        int64          `json:"seed,omitempty" default:"0" doc:"random seed for shuffling"`
	MaxParallel int            `json:"max_parallel,omitempty" alias:"maxParallel" default:"0" min:"0" doc:"points to run at the same time; 0 = limited only by the queue"`
	FailFast    bool           `json:"fail_fast,omitempty" alias:"failFast" default:"false" doc:"cancel points that have not started after a failure"`
}

// SLO holds the objectives, judged per measured stage; failed requests count as bad.
type SLO struct {
	TTFT          *Latency `json:"ttft,omitempty" doc:"time to first token"`
	ITL           *Latency `json:"itl,omitempty" doc:"inter-token latency"`
	TPOT          *Latency `json:"tpot,omitempty" doc:"time per output token, averaged over a request"`
	E2E           *Latency `json:"e2e,omitempty" doc:"end-to-end latency of a request"`
	ErrorRate     *float64 `json:"error_rate,omitempty" min:"0" max:"1" doc:"highest share of failed requests"`
	MinThroughput *float64 `json:"min_throughput,omitempty" above:"0" unit:"tokens/s" doc:"lowest output throughput"`
	Goodput       *Goodput `json:"goodput,omitempty" doc:"share of requests that meet every objective"`
	OnBreach      string   `json:"on_breach,omitempty" default:"report" enum:"report|fail|stop" doc:"report the breach, fail the run, or also skip the later stages"`
}

// Latency is an upper limit per statistic; 0 = none.
type Latency struct {
	Mean time.Duration `json:"mean,omitempty" doc:"limit of the mean"`
	P50  time.Duration `json:"p50,omitempty" doc:"limit of the median"`
	P90  time.Duration `json:"p90,omitempty" doc:"limit of the 90th percentile"`
	P95  time.Duration `json:"p95,omitempty" doc:"limit of the 95th percentile"`
	P99  time.Duration `json:"p99,omitempty" doc:"limit of the 99th percentile"`
}

// Goodput is the share of requests that meet every objective.
type Goodput struct {
	Min  float64       `json:"min" req:"true" min:"0" max:"1" doc:"lowest share of requests"`
	TTFT time.Duration `json:"ttft,omitempty" doc:"TTFT objective per request"`
	TPOT time.Duration `json:"tpot,omitempty" doc:"TPOT objective per request"`
	E2E  time.Duration `json:"e2e,omitempty" doc:"end-to-end latency objective per request"`
}

// Queue is what a run asks of its queue.
type Queue struct {
	Name      string `json:"name,omitempty" is:"subdomain" implied:"the target's name" doc:"name of the queue"`
	Priority  string `json:"priority,omitempty" is:"subdomain" doc:"priority class"`
	Isolation string `json:"isolation,omitempty" default:"shared" enum:"shared|exclusive" doc:"exclusive = no other benchmark on the same nodes"`
}

// Pins are the immutable names of what is used.
type Pins struct {
	Images         map[string]string `json:"images,omitempty" keys:"image" is:"digest" doc:"digest (sha256:...) by image reference"`
	ModelRevisions map[string]string `json:"model_revisions,omitempty" keys:"model" is:"commit" doc:"commit (40 hex digits) by model"`
	Repos          map[string]string `json:"repos,omitempty" is:"commit" doc:"commit (40 hex digits) by Git ref"`
	Datasets       map[string]string `json:"datasets,omitempty" is:"sha256" doc:"SHA-256 (64 hex digits) by URL"`
	Require        string            `json:"require,omitempty" default:"none" enum:"none|warn|all" doc:"what to do about a name without a pin"`
}

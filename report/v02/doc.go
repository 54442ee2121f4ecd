// Package v02 writes the benchmark report v0.2 of llm-d-benchmark: one document per stage. It maps a report and
// computes nothing of its own; whatever has no place in that format goes under results.observability.bflow. It writes
// only what both the published JSON Schema and the stricter models accept.
package v02

import "bflow.dev/bflow/runplan"

// Version of the documents.
const Version = "0.2"

// Document is one benchmark report.
type Document struct {
	Version  string   `json:"version" yaml:"version"`
	Run      Run      `json:"run" yaml:"run"`
	Scenario Scenario `json:"scenario" yaml:"scenario"`
	Results  Results  `json:"results" yaml:"results"`
}

// Run says which stage of which run it is.
type Run struct {
	UID         string   `json:"uid" yaml:"uid"`
	EID         string   `json:"eid,omitempty" yaml:"eid,omitempty"`
	User        string   `json:"user,omitempty" yaml:"user,omitempty"`
	Description string   `json:"description,omitempty" yaml:"description,omitempty"`
	Keywords    []string `json:"keywords,omitempty" yaml:"keywords,omitempty"`
	Time        *Time    `json:"time,omitempty" yaml:"time,omitempty"`
}

// Time is RFC 3339 in UTC and an ISO 8601 duration.
type Time struct {
	Start    string `json:"start" yaml:"start"`
	End      string `json:"end" yaml:"end"`
	Duration string `json:"duration" yaml:"duration"`
}

// Scenario is what was measured, and under which load.
type Scenario struct {
	Stack []Component `json:"stack" yaml:"stack"`
	Load  Load        `json:"load" yaml:"load"`
}

// Component is a part of the system under test.
type Component struct {
	Metadata     Metadata        `json:"metadata" yaml:"metadata"`
	Standardized InferenceEngine `json:"standardized" yaml:"standardized"`
	Native       Native          `json:"native" yaml:"native"`
}

// Metadata identifies a component or a load by the hash of its configuration.
type Metadata struct {
	SchemaVersion string `json:"schema_version" yaml:"schema_version"`
	Label         string `json:"label,omitempty" yaml:"label,omitempty"` // components only
	CfgID         string `json:"cfg_id" yaml:"cfg_id"`
}

// Native is the configuration in the words of the tool.
type Native struct {
	Args   map[string]any    `json:"args,omitempty" yaml:"args,omitempty"`
	Envars map[string]string `json:"envars,omitempty" yaml:"envars,omitempty"`
	Config any               `json:"config,omitempty" yaml:"config,omitempty"`
}

// InferenceEngine is a component of that kind.
type InferenceEngine struct {
	Kind        string      `json:"kind" yaml:"kind"`
	Tool        string      `json:"tool" yaml:"tool"`
	ToolVersion string      `json:"tool_version" yaml:"tool_version"`
	Role        string      `json:"role" yaml:"role"`
	Replicas    int         `json:"replicas" yaml:"replicas"`
	Model       Model       `json:"model" yaml:"model"`
	Accelerator Accelerator `json:"accelerator" yaml:"accelerator"`
}

// Model is what is served.
type Model struct {
	Name string `json:"name" yaml:"name"`
}

// Accelerator counts the GPUs of one replica.
type Accelerator struct {
	Model       string      `json:"model" yaml:"model"`
	Count       int         `json:"count" yaml:"count"`
	Parallelism Parallelism `json:"parallelism" yaml:"parallelism"`
}

// Parallelism of one replica.
type Parallelism struct {
	TP      int `json:"tp" yaml:"tp"`
	DP      int `json:"dp" yaml:"dp"`
	DPLocal int `json:"dp_local" yaml:"dp_local"`
	Workers int `json:"workers" yaml:"workers"`
	EP      int `json:"ep" yaml:"ep"`
	PP      int `json:"pp" yaml:"pp"`
}

// Load is the load of a stage.
type Load struct {
	Metadata     Metadata     `json:"metadata" yaml:"metadata"`
	Standardized LoadStandard `json:"standardized" yaml:"standardized"`
	Native       Native       `json:"native" yaml:"native"`
}

// LoadStandard describes a load in words that all tools share.
type LoadStandard struct {
	Tool         string     `json:"tool" yaml:"tool"`
	ToolVersion  string     `json:"tool_version" yaml:"tool_version"`
	Parallelism  int        `json:"parallelism" yaml:"parallelism"`
	Source       string     `json:"source" yaml:"source"`
	Stage        int        `json:"stage" yaml:"stage"`
	InputSeqLen  SeqLen     `json:"input_seq_len" yaml:"input_seq_len"`
	OutputSeqLen *SeqLen    `json:"output_seq_len,omitempty" yaml:"output_seq_len,omitempty"`
	RateQPS      float64    `json:"rate_qps,omitempty" yaml:"rate_qps,omitempty"`
	Concurrency  int        `json:"concurrency,omitempty" yaml:"concurrency,omitempty"`
	Prefix       *Prefix    `json:"prefix,omitempty" yaml:"prefix,omitempty"`
	MultiTurn    *MultiTurn `json:"multi_turn,omitempty" yaml:"multi_turn,omitempty"`
}

// SeqLen is a distribution of lengths in tokens, or of turns.
type SeqLen struct {
	Distribution string  `json:"distribution" yaml:"distribution"`
	Value        float64 `json:"value" yaml:"value"`
	StdDev       float64 `json:"std_dev,omitempty" yaml:"std_dev,omitempty"`
	Min          int     `json:"min,omitempty" yaml:"min,omitempty"`
	Max          int     `json:"max,omitempty" yaml:"max,omitempty"`
}

// Prefix describes shared prefixes.
type Prefix struct {
	PrefixLen        SeqLen `json:"prefix_len" yaml:"prefix_len"`
	NumGroups        int    `json:"num_groups" yaml:"num_groups"`
	NumUsersPerGroup int    `json:"num_users_per_group" yaml:"num_users_per_group"`
	NumPrefixes      int    `json:"num_prefixes" yaml:"num_prefixes"`
}

// MultiTurn describes conversations.
type MultiTurn struct {
	Enabled  bool   `json:"enabled" yaml:"enabled"`
	MaxTurns SeqLen `json:"max_turns" yaml:"max_turns"`
}

// Results of the stage.
type Results struct {
	RequestPerformance RequestPerformance `json:"request_performance" yaml:"request_performance"`
	Observability      Observability      `json:"observability" yaml:"observability"`
}

// RequestPerformance holds the numbers over the whole window.
type RequestPerformance struct {
	Aggregate Aggregate `json:"aggregate" yaml:"aggregate"`
}

// Aggregate of all requests.
type Aggregate struct {
	Requests   Requests              `json:"requests" yaml:"requests"`
	Latency    map[string]Statistics `json:"latency,omitempty" yaml:"latency,omitempty"`
	Throughput map[string]Statistics `json:"throughput,omitempty" yaml:"throughput,omitempty"`
}

// Requests counts them.
type Requests struct {
	Total        int         `json:"total" yaml:"total"`
	Failures     int         `json:"failures" yaml:"failures"`
	Incomplete   int         `json:"incomplete" yaml:"incomplete"`
	InputLength  *Statistics `json:"input_length,omitempty" yaml:"input_length,omitempty"`
	OutputLength *Statistics `json:"output_length,omitempty" yaml:"output_length,omitempty"`
}

// Statistics of one quantity. Rates have only a mean.
type Statistics struct {
	Units  string   `json:"units" yaml:"units"`
	Mean   float64  `json:"mean" yaml:"mean"`
	Stddev *float64 `json:"stddev,omitempty" yaml:"stddev,omitempty"`
	Min    *float64 `json:"min,omitempty" yaml:"min,omitempty"`
	P0p1   *float64 `json:"p0p1,omitempty" yaml:"p0p1,omitempty"`
	P1     *float64 `json:"p1,omitempty" yaml:"p1,omitempty"`
	P5     *float64 `json:"p5,omitempty" yaml:"p5,omitempty"`
	P10    *float64 `json:"p10,omitempty" yaml:"p10,omitempty"`
	P25    *float64 `json:"p25,omitempty" yaml:"p25,omitempty"`
	P50    *float64 `json:"p50,omitempty" yaml:"p50,omitempty"`
	P75    *float64 `json:"p75,omitempty" yaml:"p75,omitempty"`
	P90    *float64 `json:"p90,omitempty" yaml:"p90,omitempty"`
	P95    *float64 `json:"p95,omitempty" yaml:"p95,omitempty"`
	P99    *float64 `json:"p99,omitempty" yaml:"p99,omitempty"`
	P99p9  *float64 `json:"p99p9,omitempty" yaml:"p99p9,omitempty"`
	Max    *float64 `json:"max,omitempty" yaml:"max,omitempty"`
}

// Observability holds what the server says, and everything of ours that has no other place.
type Observability struct {
	DropRate   *Statistics    `json:"drop_rate,omitempty" yaml:"drop_rate,omitempty"`
	Components []ComponentUse `json:"components,omitempty" yaml:"components,omitempty"`
	Bflow      map[string]any `json:"bflow" yaml:"bflow"`
}

// ComponentUse is what a component of the stack counted.
type ComponentUse struct {
	ComponentLabel string                `json:"component_label" yaml:"component_label"`
	Aggregate      map[string]Statistics `json:"aggregate" yaml:"aggregate"`
}

// lengthOf maps a distribution of lengths. Shapes that the format lacks are "other".
func lengthOf(l *runplan.Length) SeqLen {
	shapes := map[string]string{"fixed": "fixed", "normal": "gaussian", "uniform": "uniform"}
	shape := shapes[l.Shape]
	if shape == "" {
		shape = "other"
	}
	return SeqLen{
		Distribution: shape, Value: max(0, l.Mean), StdDev: max(0, l.Stdev), Min: max(0, l.Min), Max: max(0, l.Max),
	}
}

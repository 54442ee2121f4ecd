package report

import (
	"encoding/json"
	"iter"
	"slices"

	"bflow.dev/bflow/runplan"
)

// StageResult is one line of stages.jsonl: one stage of one sample, complete with its numbers. load-gen writes it.
// Times are unix nanoseconds; see the header of the rows for the monotonic anchor.
type StageResult struct {
	Schema      string        `json:"schema"` // StagesSchema
	Measurement int           `json:"measurement"`
	Sample      int           `json:"sample"`
	Stage       int           `json:"stage"` // index into the plan's stages
	Planned     runplan.Stage `json:"planned"`
	// Rate is the rate in force where the plan left it to an earlier stage (Between), else Planned.Rate.
	Rate        float64           `json:"rate,omitempty"`
	StartNS     int64             `json:"start_ns"`     // first intended send
	EndNS       int64             `json:"end_ns"`       // no new measured request after this
	DrainEndNS  int64             `json:"drain_end_ns"` // last measured request finished
	Window      Window            `json:"window"`
	Ended       string            `json:"ended"` // duration, requests, stop rule kind, exhausted, interrupted, skipped
	Interrupted bool              `json:"interrupted,omitempty"`
	Counts      Counts            `json:"counts"`  // measured requests only
	Metrics     map[string]Metric `json:"metrics"` // keys: MetricNames
	// request_rate, output_token_rate, input_token_rate, total_token_rate, offered_rate, achieved_rate, cache_hit_rate,
	// and the *_run variants
	Rates     map[string]float64 `json:"rates"`
	ErrorRate *float64           `json:"error_rate,omitempty"`
	Goodput   *GoodputResult     `json:"goodput,omitempty"`
	Checks    []Check            `json:"checks"`           // validity
	Shifts    []Shift            `json:"shifts,omitempty"` // numbers that are not to be relied on
	Series    []Second           `json:"series,omitempty"` // one per second of the stage, from StartNS
	Tokens    TokenSums          `json:"tokens"`
	Client    Client             `json:"client,omitzero"`
	// Adapters splits the measured requests by LoRA adapter, where the plan names some.
	Adapters map[string]AdapterResult `json:"adapters,omitempty"`
}

// StagesSchema names the format of a line of stages.jsonl.
const StagesSchema = "bflow.stages/1"

// Window is the measured part of a stage.
type Window struct {
	StartNS   int64        `json:"start_ns"`
	EndNS     int64        `json:"end_ns"`
	SkipFirst runplan.Trim `json:"skip_first,omitzero"`
	SkipLast  runplan.Trim `json:"skip_last,omitzero"`
}

// WindowSeries yields the seconds that lie wholly in the window, and their places in the stage.
func (s *StageResult) WindowSeries() iter.Seq2[int, Second] {
	return func(yield func(int, Second) bool) {
		for i, second := range s.Series {
			start := s.StartNS + int64(i)*1e9
			if start >= s.Window.StartNS && start+1e9 <= s.Window.EndNS && !yield(i, second) {
				return
			}
		}
	}
}

// Counts counts measured requests.
type Counts struct {
	Total    int            `json:"total"`
	ByStatus map[string]int `json:"by_status"`
	ByClass  map[string]int `json:"by_error_class,omitempty"`
	All      int            `json:"all_phases"` // requests of every phase of the stage
}

// Failed counts the requests that were errors. What was cut off by the end of its stage, or cancelled, is none.
func (c Counts) Failed() int {
	n := c.ByStatus
	return n[StatusFailed] + n[StatusTimeout] + n[StatusEmpty] + n[StatusDropped]
}

// ErrorRate is the share of errors among them and the requests that ended well; nil where there are neither.
func (c Counts) ErrorRate() *float64 {
	n := c.Failed() + c.ByStatus[StatusOK]
	if n == 0 {
		return nil
	}
	return new(float64(c.Failed()) / float64(n))
}

// TokenSums are totals over the measured requests; sources counts requests per token_count_source.
type TokenSums struct {
	In        int64 `json:"in"`
	Out       int64 `json:"out"`
	OutAsked  int64 `json:"out_asked"`
	InAsked   int64 `json:"in_asked,omitempty"`    // over requests whose input the server counted
	InOfAsked int64 `json:"in_of_asked,omitempty"` // what it counted for these
	Cached    int64 `json:"cached"`
	// input tokens of the requests whose cached ones the server counted
	CachedOf    int64          `json:"cached_of,omitempty"`
	Hidden      int64          `json:"hidden"`
	ExactLength int            `json:"exact_length"` // ok requests whose tokens_out equals what was asked
	Sources     map[string]int `json:"sources"`
}

// CacheHitRate returns the share of input tokens that came from the cache; false where no request says.
func (t TokenSums) CacheHitRate() (float64, bool) {
	return float64(t.Cached) / float64(max(1, t.CachedOf)), t.CachedOf > 0
}

// Metric summarises a distribution. Quantiles are keyed "p50", "p99_9"; those with too few values are named in LowN
// (n * (1-q) < 10). A metric without a value is absent from its map.
type Metric struct {
	Unit      string             `json:"unit"` // ms, ms_per_token, s, tokens, tokens_per_s, count
	N         int64              `json:"n"`
	Mean      float64            `json:"mean"`
	Stdev     float64            `json:"stdev"`
	Min       float64            `json:"min"`
	Max       float64            `json:"max"`
	Sum       float64            `json:"sum"`
	Quantiles map[string]float64 `json:"quantiles"`
	LowN      []string           `json:"low_n,omitempty"`
	// Absent names the fields min and max where an import has no value for them; a quantile that it lacks is absent
	// from its map.
	Absent []string `json:"absent,omitempty"`
}

// Has says whether the metric holds a part: "min", "max" or a quantile.
func (m Metric) Has(part string) bool {
	if part == "min" || part == "max" {
		return !slices.Contains(m.Absent, part)
	}
	_, ok := m.Quantiles[part]
	return ok
}

// MarshalJSON leaves out what is absent, which is not zero.
func (m Metric) MarshalJSON() ([]byte, error) {
	type plain Metric
	if len(m.Absent) == 0 {
		return json.Marshal(plain(m))
	}
	return json.Marshal(struct {
		plain
		Min *float64 `json:"min,omitempty"`
		Max *float64 `json:"max,omitempty"`
	}{plain: plain(m)})
}

// Quantiles are those that every Metric holds.
//
//nolint:gochecknoglobals // a table of constants, never written
var Quantiles = []struct {
	Name string
	P    float64 // percent
}{
	{"p0_1", 0.1}, {"p1", 1}, {"p5", 5}, {"p10", 10}, {"p25", 25}, {"p50", 50}, {"p75", 75}, {"p90", 90}, {"p95", 95},
	{"p99", 99}, {"p99_9", 99.9},
}

// AdapterResult is what the requests of one adapter did.
type AdapterResult struct {
	Requests int               `json:"requests"`
	OK       int               `json:"ok"`
	Metrics  map[string]Metric `json:"metrics"` // ttft and e2e
}

// GoodputResult says how many requests met every objective.
type GoodputResult struct {
	Good         int            `json:"good"`
	Of           int            `json:"of"`               // ok + failed + timed out
	Attainment   float64        `json:"attainment"`       // Good / Of
	RequestsPerS float64        `json:"requests_per_s"`   // good requests per second of the window
	TokensPerS   float64        `json:"tokens_per_s"`     // their output tokens
	Met          map[string]int `json:"met,omitempty"`    // objective -> requests that met it, for each there is
	Missed       map[string]int `json:"missed,omitempty"` // objective -> answers that missed it
	Undetermined map[string]int `json:"undetermined,omitempty"`
}

// Attainments returns, for each objective, the share of requests that met it. Requests that ended badly met none; an
// answer to which an objective does not apply is left out of its share.
func (g *GoodputResult) Attainments() map[string]float64 {
	out := map[string]float64{}
	for name, met := range g.Met {
		if of := g.Of - g.Undetermined[name]; of > 0 {
			out[name] = float64(met) / float64(of)
		}
	}
	return out
}

// Unjudged returns the objectives that no answer could be held to, as a TTFT where answers do not stream: every request
// that ended well counts as good then, and a share of good ones shows nothing.
func (g *GoodputResult) Unjudged() []string {
	var out []string
	for name, n := range g.Undetermined {
		if n > 0 && g.Met[name]+g.Missed[name] == 0 {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Check is one validity check: its number, its limit, and what it found.
type Check struct {
	Name   string  `json:"name"` // e.g. "sched_lag_p99_ms"
	Value  float64 `json:"value"`
	Limit  float64 `json:"limit"`
	OK     bool    `json:"ok"`
	Reason string  `json:"reason,omitempty"` // the reason word when not OK: schedule_missed, client_limited, ...
	Note   bool    `json:"note,omitempty"`   // a finding that does not make the measurement invalid (server_saturated)
	Text   string  `json:"text,omitempty"`   // one sentence for a person
	// Touches are the numbers that what was found has changed; absent = all of the stage.
	Touches []Number `json:"touches,omitempty"`
}

// NotChecked is the reason of a check that nobody could make: the rows are another tool's.
const NotChecked = "not_checked"

// Second is one second of a stage: what started, ended, flowed and failed in it.
type Second struct {
	Sent      int     `json:"sent"`
	Done      int     `json:"done"` // ok
	Errors    int     `json:"errors"`
	TokensOut int     `json:"tokens_out"`
	InFlight  float64 `json:"in_flight"` // time-weighted mean
	TTFTP50   float64 `json:"ttft_p50_ms,omitempty"`
	TTFTP99   float64 `json:"ttft_p99_ms,omitempty"`
}

// Client is what load-gen knows about itself during the stage.
type Client struct {
	CPUSeconds   float64 `json:"cpu_seconds"`
	RunQueueS    float64 `json:"run_queue_seconds"` // run delay of all threads less 25 µs per wake-up
	MaxGCPauseMS float64 `json:"max_gc_pause_ms"`
	ConnsOpened  int     `json:"connections_opened"`
	// requests put again because the server had closed the kept connection
	StaleRetries int     `json:"stale_retries,omitempty"`
	PeakRSSBytes int64   `json:"peak_rss_bytes,omitempty"`
	ClockDriftMS float64 `json:"clock_drift_ms"` // wall against monotonic, start to end
}

// LoadGenSchema names the format of loadgen.json.
const LoadGenSchema = "bflow.loadgen/1"

// LoadGen is loadgen.json: what happened to the measurement as a whole.
type LoadGen struct {
	Schema      string `json:"schema"` // "bflow.loadgen/1"
	Measurement int    `json:"measurement"`
	Attempt     int    `json:"attempt"`
	Endpoint    string `json:"endpoint"`
	StartNS     int64  `json:"start_ns"`
	EndNS       int64  `json:"end_ns"`
	// CLOCK_MONOTONIC of load-gen's host at the zero of all t_* columns
	AnchorMonoNS int64 `json:"anchor_mono_ns,omitempty"`
	Complete     bool  `json:"complete"` // every stage ran to its end
	Interrupted  bool  `json:"interrupted"`
	// by a signal that it cannot answer; whoever saw it has written error
	Killed           bool     `json:"killed,omitempty"`
	Error            string   `json:"error,omitempty"`              // why it could not run or go on, one sentence
	MemoryLimit      int64    `json:"memory_limit_bytes,omitempty"` // of the control group of load-gen; 0 = none
	TokenCountSource string   `json:"token_count_source,omitempty"`
	PromptMethod     string   `json:"prompt_method,omitempty"` // token_ids, tokenize, calibrated
	PromptSet        string   `json:"prompt_set,omitempty"`    // sha256
	Version          string   `json:"version"`
	Notes            []string `json:"notes,omitempty"`
	// Scrapes are the engine's /metrics texts, taken just outside each window, in measurements/<n>/scrapes/.
	Scrapes []Scrape `json:"scrapes,omitempty"`
}

// Unfinished is what is said of a load whose loadgen.json is Cut.
const Unfinished = "load-gen did not come to its end: unless it still runs it was killed, by somebody or because " +
	"memory ran out (OOMKilled, exit code 137); " +
	"where it was memory, send fewer requests at once, ask for shorter answers, or give it more memory"

// Cut says whether load-gen has begun, and neither come to its end nor said why not.
func (l *LoadGen) Cut() bool { return !l.Complete && !l.Interrupted && l.Error == "" }

// Scrape is one reading of the engine's metrics.
type Scrape struct {
	Sample int    `json:"sample"`
	Stage  int    `json:"stage"`
	When   string `json:"when"` // before or after
	UnixNS int64  `json:"unix_ns"`
	File   string `json:"file,omitempty"` // relative to measurements/<n>/; absent when it failed
	Error  string `json:"error,omitempty"`
}

package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// ReportSchema names the format of report.json.
const ReportSchema = "bflow.report/1"

// Report is report.json: everything that is known about a run, and the one source of all pages and exports.
type Report struct {
	Schema       string           `json:"schema"` // ReportSchema
	Run          RunInfo          `json:"run"`
	Plan         *runplan.RunPlan `json:"plan"`
	Environment  Environment      `json:"environment"`
	Measurements []Measurement    `json:"measurements"`
	Server       Server           `json:"server"`
	Verdict      Verdict          `json:"verdict"`
}

// RunInfo says which run it was. Start and end are those of the load, zero when there was none.
type RunInfo struct {
	ID           string    `json:"id"`
	Attempt      int       `json:"attempt"`
	Release      string    `json:"release,omitempty"`
	Start        time.Time `json:"start,omitzero"`
	End          time.Time `json:"end,omitzero"`
	Endpoint     string    `json:"endpoint,omitempty"`      // base URL of the server under test, without credentials
	BflowVersion string    `json:"bflow_version,omitempty"` // that measured, else that reported
}

// Environment is what the run ran on. It holds nothing that names a person, a host or an address.
type Environment struct {
	Load   *Host   `json:"load,omitempty"` // where bflow ran
	Engine *Engine `json:"engine,omitempty"`
	// Colocated says that a node of the cluster ran both the engine and the load, which then share its processors.
	Colocated bool `json:"colocated,omitempty"`
}

// Host is a machine as the kernel describes it.
type Host struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	Kernel      string `json:"kernel,omitempty"`
	CPUModel    string `json:"cpu_model,omitempty"`
	CPUs        int    `json:"cpus"` // usable by the process
	MemoryBytes int64  `json:"memory_bytes,omitempty"`
	GoVersion   string `json:"go_version"`
}

// Engine is the server under test as it described itself.
type Engine struct {
	Kind         string   `json:"kind"`
	Target       string   `json:"target,omitempty"` // cluster that it was deployed on
	Version      string   `json:"version,omitempty"`
	Model        string   `json:"model"`
	ServedModels []string `json:"served_models,omitempty"`
	Deployed     bool     `json:"deployed"` // by this run; false: it was there before
	Replicas     int      `json:"replicas"`
	StartupS     float64  `json:"startup_s,omitempty"` // from the start of the deployment to the first right answer
}

// Target is the cluster that the server under test ran on.
func (r *Report) Target() string {
	if e := r.Environment.Engine; e != nil && e.Target != "" {
		return e.Target
	}
	return r.Plan.Target.Name
}

// Measurement is one measurement with the stages of each of its samples and of all samples together.
type Measurement struct {
	Index            int      `json:"index"` // place in the plan, from 0
	Name             string   `json:"name"`
	Tool             string   `json:"tool"`
	ToolVersion      string   `json:"tool_version,omitempty"`
	Complete         bool     `json:"complete"`
	Interrupted      bool     `json:"interrupted,omitempty"`
	Error            string   `json:"error,omitempty"` // why there is no or no whole result
	TokenCountSource string   `json:"token_count_source,omitempty"`
	Clock            string   `json:"clock,omitempty"` // user or kernel
	PromptMethod     string   `json:"prompt_method,omitempty"`
	PromptSet        string   `json:"prompt_set,omitempty"`
	Notes            []string `json:"notes,omitempty"`
	Samples          []Sample `json:"samples"`
	Pooled           Pooled   `json:"pooled"`
}

// Sample is one repetition.
type Sample struct {
	Sample int     `json:"sample"`
	Stages []Stage `json:"stages"`
}

// Pooled holds each stage over all samples: counts and sums are added, distributions merged, rates weighted by the
// length of the windows.
type Pooled struct {
	Stages []Stage `json:"stages"`
}

// Stage is a stage with what collect found out about it. In Pooled, times are those of the first sample, the series
// and the client's own numbers are absent, and a check is the worst of its samples.
type Stage struct {
	StageResult
	// a level of a search that is not its answer: shown, and nothing is judged by it
	Explored       bool         `json:"explored,omitempty"`
	Valid          bool         `json:"valid"`
	InvalidReasons []string     `json:"invalid_reasons,omitempty"`
	WindowS        float64      `json:"window_s"`          // seconds measured, of all samples where pooled
	Verdict        string       `json:"verdict,omitempty"` // pooled, measured stages only
	Gates          []Gate       `json:"gates,omitempty"`   // pooled, measured stages only
	Server         *ServerStage `json:"server,omitempty"`
	// pooled: metric -> value and share of values that are at most that
	CDF map[string][]Point `json:"cdf,omitempty"`
}

// Point is a place on a curve.
type Point [2]float64

// Server is what was asked of Prometheus about the whole load window.
type Server struct {
	Queries []Query `json:"queries,omitempty"`
}

// Query is the outcome of one Prometheus range query; the values are in its file.
type Query struct {
	Name   string   `json:"name"`
	Query  string   `json:"query"`
	File   string   `json:"file,omitempty"`  // relative to the run directory
	Error  string   `json:"error,omitempty"` // why the metric is absent
	Series int      `json:"series"`
	Points int      `json:"points"`
	Mean   *float64 `json:"mean,omitempty"` // over all points of all series
	Max    *float64 `json:"max,omitempty"`
}

// ServerStage is what the engine counted during a stage: differences between two readings of its metrics taken just
// outside the stage. Keys are catalogue ids (generation_tokens, queue_time, ...).
type ServerStage struct {
	Counters   map[string]float64         `json:"counters,omitempty"`
	Gauges     map[string]GaugeReading    `json:"gauges,omitempty"`
	Histograms map[string]ServerHistogram `json:"histograms,omitempty"`
	Error      string                     `json:"error,omitempty"` // why there is no difference
}

// GaugeReading is a gauge before and after the stage.
type GaugeReading struct {
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

// ServerHistogram is the difference of a histogram of the engine, in ms. Quantiles are interpolated within its
// buckets, so they are as coarse as those; one below the first or above the last bound is absent.
type ServerHistogram struct {
	N         float64            `json:"n"`
	MeanMS    float64            `json:"mean_ms"`
	Quantiles map[string]float64 `json:"quantiles_ms,omitempty"`
}

// NotJudged is the verdict of what another tool has measured: it says how long it took, and not how well it knows.
const NotJudged = "not judged"

// VerdictSchema names the format of verdict.json.
const VerdictSchema = "bflow.verdict/1"

// Verdict is verdict.json. The word says what was found; the exit code says what the experiment file wants to follow
// from it, so a breach that is only reported has the word fail and the code 0.
type Verdict struct {
	Schema   string     `json:"schema"` // VerdictSchema
	Verdict  string     `json:"verdict"`
	ExitCode int        `json:"exit_code"`
	Reasons  []string   `json:"reasons"` // one sentence each, gravest first
	Gates    []Gate     `json:"gates"`
	Validity []Validity `json:"validity"`
}

// Gate is one objective at one measured stage. Values of latencies are in ms.
type Gate struct {
	Measurement int    `json:"measurement"`
	Stage       int    `json:"stage"`
	StageName   string `json:"stage_name"`
	// ttft, itl, tpot, e2e, error_rate, drop_rate, output_token_rate, goodput
	Metric   string `json:"metric"`
	Quantile string `json:"quantile,omitempty"` // mean, p50, ...; empty for rates and shares
	// metric of the stage that the value is of: ttft_intended; empty for rates and shares
	Judged  string   `json:"judged,omitempty"`
	Unit    string   `json:"unit"`
	Limit   float64  `json:"limit"`
	AtLeast bool     `json:"at_least,omitempty"` // the value must not be below the limit; else not above it
	Value   *float64 `json:"value,omitempty"`    // nil: not measured
	Low     *float64 `json:"low,omitempty"`      // 95 % interval of the value, open ends absent
	High    *float64 `json:"high,omitempty"`
	N       int64    `json:"n"`
	Verdict string   `json:"verdict"`
	// the rule that holds where the experiment sets no objective for errors
	Default bool `json:"default,omitempty"`
}

// Validity is a validity check that failed or is worth noting, with its place.
type Validity struct {
	Measurement int    `json:"measurement"`
	Sample      int    `json:"sample"`
	Stage       int    `json:"stage"`
	StageName   string `json:"stage_name"`
	Check
}

// Read returns the report of the run directory dir. An unknown schema is an error.
func Read(dir string) (*Report, error) {
	path := filepath.Join(dir, contract.FileReport)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading report: %w", err)
	}
	var r Report
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("reading %q: %w", path, err)
	}
	if r.Schema != ReportSchema {
		return nil, fmt.Errorf("reading %q: schema %q is not %q", path, r.Schema, ReportSchema)
	}
	return &r, nil
}

// ReadVerdict returns the verdict of the run directory dir. An unknown schema is an error.
func ReadVerdict(dir string) (*Verdict, error) {
	path := filepath.Join(dir, contract.FileVerdict)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading verdict: %w", err)
	}
	var v Verdict
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("reading %q: %w", path, err)
	}
	if v.Schema != VerdictSchema {
		return nil, fmt.Errorf("reading %q: schema %q is not %q", path, v.Schema, VerdictSchema)
	}
	return &v, nil
}

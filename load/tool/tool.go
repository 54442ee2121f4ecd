package tool

import (
	"context"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/literal"
)

// Tool is a load tool of others. Its package holds all that is known of it; package registry lists the tools.
type Tool interface {
	Translator
	// Parse reads the tool's command line, without its name and subcommands, so that load-gen can replace it.
	Parse(c *CommandLine, args []string)
	// External says how the tool itself makes the load; nil where it cannot.
	External() External
	// Results are the files that the tool writes; the zero value where it writes none of its own.
	Results() Results
}

// Translator turns a block of load into a measurement.
type Translator interface {
	Definition() Definition
	// Translate reads the block of d and fills in its measurement.
	Translate(d *Draft)
}

// Definition is how a tool is called, and where people meet it.
type Definition struct {
	Name string // in field tool of a profile, and in plans

	// Key is where a profile keeps the block, below spec: a key, or a key and the one below it.
	Key string
	// Doc explains Key, InnerDoc the key below it.
	Doc, InnerDoc string

	Program     string   // by which a command line names the tool
	Script      string   // a file name that names it as well
	Subcommands []string // which follow the name
	// Variables are the beginnings of environment variables that name the tool where there is no command line.
	Variables []string
	// Usage and VariableUsage are for the help of load-gen: the command line, and how variables stand for it.
	Usage, VariableUsage string
	// ServerHint says how the words of the tool name the server.
	ServerHint string
}

// External is a tool that makes the load itself, as a process of its own.
type External interface {
	Program() Program
	// Override writes what an experiment overrides into a block that the tool will read.
	Override(d *Draft, block map[string]any)
	// Command returns the process that carries out block: the tool's own, with "_" for "-" in the names of its first
	// level. It may change block.
	Command(i Invocation, block map[string]any) (Command, error)
}

// Results are the result files of a tool, read and written.
type Results struct {
	Looks   func(doc tools.Document) bool // whether a file has the shape of one
	Read    tools.Reader
	Long    tools.Long              // which lists of such a file may be long
	Formats map[string]tools.Format // that bflow export has, by name
	// Lacks are latencies that requests in the files do not have: what stands there is another's.
	Lacks []string
}

// MonotonicClock is an External whose results hold times of the monotonic clock alone.
type MonotonicClock interface {
	// FirstStart is the start of the first request, ns of that clock.
	FirstStart(ctx context.Context, docs []tools.Document) (ns int64, ok bool)
}

// Program is what pip installs. Blocks are written in the words of the version that Requirement names.
type Program struct {
	Name         string   // of the executable
	Requirement  string   // what pip installs it by
	Distribution string   // under which pip notes its version, with "_" for "-"
	Results      []string // patterns of the names of its result files
}

// Values of tool_runner. Auto (also the empty value) takes the native generator. What only the real tool can do is an
// error then, unless the load is for this host and names the virtual environment that holds the tool.
const (
	RunnerAuto     = "auto"
	RunnerNative   = runplan.RunnerNative
	RunnerExternal = runplan.RunnerExternal
)

// Source is one description of load and what surrounds it.
type Source struct {
	Tool      Translator        // whose words Block is written in
	Block     Block             // the tool's own block: spec.guidellm, spec.inference_perf.config, spec.load, ...
	Name      string            // of the measurement: the benchmark profile, or "load"
	Model     string            // served model name
	Runner    string            // tool_runner
	Env       map[string]string // spec.env of the profile
	Venv      string            // virtual environment of the real tool, for a load that it runs on this host
	Lenient   bool              // unknown fields are warnings
	Submitted bool              // the load is for a cluster, where no real tool is
	Alone     bool              // no real tool is at hand: what it alone can do goes to Translation.Beyond

	// Overrides are overrides.benchmark and model_overrides.<model>.benchmark, weakest first.
	Overrides []OverrideLayer

	Samples     int              // execution.samples; 0 means 1
	SamplePause runplan.Duration // execution.sample_pause
}

// Block is a node of a file. Node may be nil: nothing is written there.
type Block struct {
	File string
	Path string // dotted, from the document's root: spec.guidellm
	Node *yaml.Node
}

// Translation is what a Source says.
type Translation struct {
	// Measurement lacks only its Hash. With Runner external its Stages are what could be read of the block:
	// good for a time budget, not for running.
	Measurement runplan.Measurement
	// SLO is set where the tool's block itself names objectives. An slo of the experiment replaces it.
	SLO *runplan.SLO
	// Beyond is what only the real tool can do, of a Source that is Alone.
	Beyond problem.List
	// Secrets are the credentials that the block holds literally. The measurement refers to them: to an API key by
	// API.APIKeySecret, to others by references in its texts.
	Secrets []literal.Secret
}

// Translate reads src. The measurement is complete when the list holds no error; warnings say what was changed,
// ignored, or why the real tool is needed, and stand in Measurement.Notes as well, without positions.
func Translate(src Source) (Translation, problem.List) { return newDraft(src).run() }

// Package load defines the native load block, NativeBlock, with the rules between its fields, and turns it, or the block of
// another tool, into a runplan.Measurement. The native block comes typed from who read the file; those of tools are free
// mappings, which the package reads itself. It is a pure translation that keeps positions for its messages: it opens no
// file, knows no catalogue and no matrix, and decides nothing about the deployment.
package load

import (
	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/literal"
)

// Tools whose words are understood.
const (
	Native        = "native"
	GuideLLM      = "guidellm"
	AIPerf        = "aiperf"
	InferencePerf = "inference-perf"
	VLLMBench     = "vllm-bench"
	InferenceMAX  = "inferencemax" // benchmark_serving.py of that project: most words of vllm bench serve, one of them with another meaning
)

// Values of tool_runner. Auto (also the empty value) takes the native generator. What only the real tool can do is an error
// then, unless the load is for this host and names the virtual environment that holds the tool.
const (
	RunnerAuto     = "auto"
	RunnerNative   = runplan.RunnerNative
	RunnerExternal = runplan.RunnerExternal
)

// Source is one description of load and what surrounds it.
type Source struct {
	Block     Block             // the tool's own block: spec.guidellm, spec.inference_perf, spec.load, ...
	Load      *NativeBlock      // of Tool Native: what Block says, as it was read and checked
	Tool      string            // one of the tools above; empty means GuideLLM, the format's default
	Name      string            // of the measurement: the benchmark profile, or "load"
	Model     string            // served model name
	Runner    string            // tool_runner
	Env       map[string]string // spec.env of the profile
	Venv      string            // virtual environment of the real tool, for a load that it runs on this host
	Lenient   bool              // unknown fields are warnings
	Submitted bool              // the load is for a cluster, where no real tool is
	Alone     bool              // no real tool is at hand: what is beyond the native generator is told in Translation.Beyond, and left out

	// Overrides are overrides.benchmark and model_overrides.<model>.benchmark, weakest first.
	Overrides []OverrideLayer

	Samples     int              // execution.samples; 0 means 1
	SamplePause runplan.Duration // execution.sample_pause
}

// Block is a node of a file. Node may be nil: nothing is written there. Of inference-perf it is what stands below
// inference_perf.config.
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

// Mapping returns the mapping that a scalar stands for in a block: JSON, "k=v,k=v", or a bare word, which is its kind.
// Other nodes are returned as they are; nil where the text is no mapping.
func Mapping(n *yaml.Node) *yaml.Node {
	return value{findings: &findings{}}.at(n, "").typed().node
}

// Translate reads src. The measurement is complete when the list holds no error; warnings say what was changed,
// ignored, or why the real tool is needed, and stand in Measurement.Notes as well, without positions.
func Translate(src Source) (Translation, problem.List) {
	t := newTranslator(src)
	return t.run()
}

package load

import (
	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/literal"
)

// translator holds one translation on its way.
type translator struct {
	*findings
	src      Source
	block    value
	over     overrides
	m        runplan.Measurement
	slo      *runplan.SLO
	secret   *literal.Secret // the API key
	taken    []literal.Secret
	sessions value          // inference-perf: set where each prompt is a session whose requests follow one another
	named    map[string]int // stages by name, with the number of the last that was made up from it
	told     problem.List   // beyond the native generator, where no tool is at hand
}

func newTranslator(src Source) *translator {
	f := &findings{lenient: src.Lenient}
	t := &translator{findings: f, src: src}
	n := src.Block.Node
	if n != nil && n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	t.block = value{findings: f, file: src.Block.File}.at(n, src.Block.Path)
	t.m = runplan.Measurement{
		Name: src.Name, Tool: src.Tool, Runner: RunnerNative,
		Samples: max(src.Samples, 1), SamplePause: src.SamplePause,
	}
	if t.m.Tool == "" {
		t.m.Tool = GuideLLM
	}
	return t
}

func (t *translator) run() (Translation, problem.List) {
	if t.withinLimits() {
		if !t.src.Alone { // whose words have been looked through before they became a block
			t.block.filled()
		}
		t.readOverrides()
		t.translate()
		t.finish()
	}
	t.problems.Sort()
	return Translation{Measurement: t.m, SLO: t.slo, Beyond: t.told, Secrets: t.secrets()}, t.problems
}

func (t *translator) withinLimits() bool {
	ok := t.block.withinLimits()
	for _, o := range t.src.Overrides {
		ok = value{findings: t.findings, file: o.File}.at(o.Node, o.Path).withinLimits() && ok
	}
	return ok
}

func (t *translator) translate() {
	switch t.m.Tool {
	case Native:
		t.native()
	case GuideLLM:
		t.guidellm()
	case AIPerf:
		t.aiperf()
	case InferencePerf:
		t.inferencePerf()
	case VLLMBench, InferenceMAX:
		t.vllmBench()
	default:
		t.block.errorf("tool: %s", notOneOf(t.m.Tool, []string{Native, GuideLLM, AIPerf, InferencePerf, VLLMBench, InferenceMAX}))
	}
}

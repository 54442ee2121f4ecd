package load

import (
	"maps"
	"strings"

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
	t := &translator{findings: f, src: src, over: overrides{env: maps.Clone(src.Env)}}
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

// overrides is the benchmark block of an experiment, layers already merged.
type overrides struct {
	rates, maxSeconds, maxRequests, requestType, promptForm value

	env map[string]string
}

// OverrideEnv puts the variables of a stronger layer over those of env; one that is blank is removed.
func OverrideEnv(env, stronger map[string]string) {
	for name, text := range stronger {
		if strings.TrimSpace(text) == "" {
			delete(env, name)
			continue
		}
		env[name] = text
	}
}

func (t *translator) readOverrides() {
	for _, o := range t.src.Overrides {
		f := value{findings: t.findings, file: o.File}.at(o.Node, o.Path).fields()
		replaced(&t.over.rates, f.get("rates"))
		replaced(&t.over.maxSeconds, f.get("max_seconds"))
		replaced(&t.over.maxRequests, f.get("max_requests"))
		replaced(&t.over.requestType, f.get("request_type"))
		replaced(&t.over.promptForm, f.get("prompt_form"))
		if env := f.get("env").secretTexts(); len(env) > 0 {
			if t.over.env == nil {
				t.over.env = map[string]string{}
			}
			OverrideEnv(t.over.env, env)
		}
	}
	if _, ok := t.over.env["GUIDELLM_OUTPUT_PATH"]; ok {
		t.block.errorf("env GUIDELLM_OUTPUT_PATH is set by the runner: remove it")
	}
	t.m.Env = t.over.env
}

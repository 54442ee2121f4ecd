package load

import (
	"maps"
	"strings"
	"time"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
)

// BenchmarkOverrides is what overrides.benchmark of an experiment changes of a load. Its struct tags drive the decoder of
// package spec of the generator, which lists them, as those of NativeBlock do.
type BenchmarkOverrides struct {
	Rates       List[float64]     `json:"rates,omitempty" above:"0" doc:"load points of a guidellm profile; not an axis"`
	MaxSeconds  int               `json:"max_seconds,omitempty" min:"1" unit:"s" doc:"replaces the time limit"`
	MaxRequests Count             `json:"max_requests,omitzero" doc:"replaces the request limit: an integer or N*concurrency"`
	RequestType string            `json:"request_type,omitempty" is:"requesttype" doc:"API of the requests"`
	PromptForm  string            `json:"prompt_form,omitempty" enum:"auto|text" implied:"auto" doc:"text = words for every API, so that chat and completions send the same prompts"`
	Env         map[string]string `json:"env,omitempty" keys:"env" secret:"true" doc:"environment variables of the load pod, merged by name; an empty value removes the variable"`
}

// OverrideLayer is one block of overrides, as it was read and checked, and where it stands.
type OverrideLayer struct {
	BenchmarkOverrides
	Block
}

// overrides is what all layers change together. Beside each field stands where it was set: messages point there, and a tool
// that has a field of the same meaning reads the override in its place.
type overrides struct {
	BenchmarkOverrides
	rates, maxSeconds, maxRequests, requestType, promptForm value
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

// readOverrides puts the layers over each other and over the environment of the profile.
func (t *translator) readOverrides() {
	env := maps.Clone(t.src.Env)
	for _, l := range t.src.Overrides {
		f := value{findings: t.findings, file: l.File}.at(l.Node, l.Path).fields()
		override(&t.over.rates, f.get("rates"), &t.over.Rates, l.Rates)
		override(&t.over.maxSeconds, f.get("max_seconds"), &t.over.MaxSeconds, l.MaxSeconds)
		override(&t.over.maxRequests, f.get("max_requests"), &t.over.MaxRequests, l.MaxRequests)
		override(&t.over.requestType, f.get("request_type"), &t.over.RequestType, l.RequestType)
		override(&t.over.promptForm, f.get("prompt_form"), &t.over.PromptForm, l.PromptForm)
		if env == nil && len(l.Env) > 0 {
			env = map[string]string{}
		}
		OverrideEnv(env, l.Env)
		for _, e := range f.get("env").fields().entries {
			if !e.value.set() { // null, which a map of texts does not hold
				delete(env, e.key)
			}
		}
	}
	for _, f := range CheckEnv(env) {
		t.block.errorf("env.%s: %s", f.Path, f.Text)
	}
	t.m.Env = env
}

// CheckEnv finds variables of a load that whoever runs it sets.
func CheckEnv(env map[string]string) (out problem.Findings) {
	const outputs = "GUIDELLM_OUTPUT_PATH"
	if _, ok := env[outputs]; ok {
		out.Add(outputs, "bflow sets this variable itself; remove it")
	}
	return out
}

// override takes over what a stronger layer sets.
func override[T any](at *value, found value, have *T, stronger T) {
	if found.set() {
		*at, *have = found, stronger
	}
}

// kind is the type of API that requests go to instead, "" where no layer names one.
func (o *overrides) kind() string {
	kind, _ := APIType(o.RequestType)
	return kind
}

// duration is the time limit instead, 0 where no layer has one.
func (o *overrides) duration() runplan.Duration {
	if float64(o.MaxSeconds) > runplan.LongestTime.Seconds() {
		o.maxSeconds.errorf(lengthOfTime, o.maxSeconds.text())
		return 0
	}
	return runplan.Duration(o.MaxSeconds) * runplan.Duration(time.Second)
}

// requests is the request limit instead for a stage of a load value, nil where it has none; 0 where no layer has a limit.
func (o *overrides) requests(load *float64) int {
	var loads []float64
	if load != nil {
		loads = []float64{*load}
	}
	for _, f := range o.MaxRequests.check(loads) {
		o.maxRequests.errorf("%s", f.Text)
	}
	if load == nil {
		return o.MaxRequests.of(0)
	}
	return o.MaxRequests.of(*load)
}

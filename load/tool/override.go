package tool

import (
	"maps"
	"strings"
	"time"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/runplan"
)

// BenchmarkOverrides is what overrides.benchmark of an experiment changes of a load. Its struct tags drive the decoder
// of package spec of the generator, which lists them, as those of the native block do.
type BenchmarkOverrides struct {
	Rates       shape.List[float64] `json:"rates,omitempty" above:"0" doc:"load points of a guidellm profile; not an axis"`
	MaxSeconds  int                 `json:"max_seconds,omitempty" min:"1" unit:"s" doc:"replaces the time limit"`
	MaxRequests Count               `json:"max_requests,omitzero" doc:"replaces the request limit: an integer or N*concurrency"`
	RequestType string              `json:"request_type,omitempty" is:"requesttype" doc:"API of the requests"`
	PromptForm  string              `json:"prompt_form,omitempty" enum:"auto|text" implied:"auto" doc:"text = words for every API, so that chat and completions send the same prompts"`
	Env         map[string]string   `json:"env,omitempty" keys:"env" secret:"true" doc:"environment variables of the load pod, merged by name; an empty value removes the variable"`
}

// OverrideLayer is one block of overrides, as it was read and checked, and where it stands.
type OverrideLayer struct {
	BenchmarkOverrides
	Block
}

// Overrides is what all layers change together. A field that is a Value is where the override was set: messages point
// there, and a tool that has a field of the same meaning reads the override in its place.
type Overrides struct {
	Rates, MaxSeconds, MaxRequests, RequestType Value

	promptForm Value
	values     BenchmarkOverrides // what stands there, checked; its Env is not used
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
func (d *Draft) readOverrides() {
	env, over := maps.Clone(d.src.Env), &d.Over
	for _, l := range d.src.Overrides {
		f := Value{findings: d.findings, file: l.File}.At(l.Node, l.Path).Fields()
		override(&over.Rates, f.Get("rates"), &over.values.Rates, l.Rates)
		override(&over.MaxSeconds, f.Get("max_seconds"), &over.values.MaxSeconds, l.MaxSeconds)
		override(&over.MaxRequests, f.Get("max_requests"), &over.values.MaxRequests, l.MaxRequests)
		override(&over.RequestType, f.Get("request_type"), &over.values.RequestType, l.RequestType)
		override(&over.promptForm, f.Get("prompt_form"), &over.values.PromptForm, l.PromptForm)
		if env == nil && len(l.Env) > 0 {
			env = map[string]string{}
		}
		OverrideEnv(env, l.Env)
		for _, e := range f.Get("env").Fields().Entries {
			if !e.Value.IsSet() { // null, which a map of texts does not hold
				delete(env, e.Key)
			}
		}
	}
	for _, f := range CheckEnv(env) {
		d.Block.Errorf("env.%s: %s", f.Path, f.Text)
	}
	d.Env = env
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
func override[T any](at *Value, found Value, have *T, stronger T) {
	if found.IsSet() {
		*at, *have = found, stronger
	}
}

// RequestKind is the type of API that requests go to instead, "" where no layer names one.
func (o *Overrides) RequestKind() string {
	kind, _ := APIType(o.values.RequestType)
	return kind
}

// Duration is the time limit instead, 0 where no layer has one.
func (o *Overrides) Duration() runplan.Duration {
	if float64(o.values.MaxSeconds) > runplan.LongestTime.Seconds() {
		o.MaxSeconds.Errorf(lengthOfTime, o.MaxSeconds.Text())
		return 0
	}
	return runplan.Duration(o.values.MaxSeconds) * runplan.Duration(time.Second)
}

// Requests is the request limit instead for a stage of a load value, nil where it has none; 0 where no layer has a
// limit.
func (o *Overrides) Requests(load *float64) int {
	var loads []float64
	if load != nil {
		loads = []float64{*load}
	}
	for _, f := range o.values.MaxRequests.Check(loads) {
		o.MaxRequests.Errorf("%s", f.Text)
	}
	if load == nil {
		return o.values.MaxRequests.Of(0)
	}
	return o.values.MaxRequests.Of(*load)
}

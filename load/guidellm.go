package load

import (
	"time"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/runplan"
)

// guide is a guidellm block, each part where it stands.
type guide struct {
	at, backend, profile, data, loader, mapper, warmup value

	override, constraint value
	legacy               legacyGuide
	own                  bool // constraint is the pre-warm-up's own: overrides do not reach it
}

// legacyGuide holds the words of GuideLLM up to 0.6.
type legacyGuide struct {
	rateType, rate, maxSeconds, maxRequests, maxErrorRate, seed value
}

const setByRunner = "is set by the runner: the value here has no effect"

func (t *translator) guidellm() {
	t.m.API = runplan.API{Stream: true, VerifyTLS: true, ExactOutput: true, Timeout: runplan.Duration(600 * time.Second)}
	if !t.block.set() {
		t.block.errorf("needs a guidellm block")
		return
	}
	g := t.readGuide(t.block)
	t.guideBackend(g.backend)
	t.guideWarmup(g)
	points := t.guidePoints(g)
	for i, p := range points {
		p.last = i == len(points)-1
		t.guideStage(g, p)
	}
	if len(t.m.Stages) > 0 {
		t.settleData()
	}
}

func (t *translator) readGuide(v value) guide {
	f := v.fields()
	g := guide{
		at: v, backend: f.get("backend"), profile: f.get("profile").typed(), data: f.get("data").typedItems(), loader: f.get("data_loader").typed(),
		mapper: f.get("data_column_mapper").typed(), warmup: f.get("pre_warmup"), override: f.get("override", "overrides"), constraint: f.get("constraint", "constraints").typedItems(),
		legacy: legacyGuide{
			rateType: f.old("rate_type", "profile.kind"), rate: f.old("rate", "profile.streams or profile.rate"),
			maxSeconds:  f.old("max_seconds", "constraint max_duration"),
			maxRequests: f.old("max_requests", "constraint max_requests"), maxErrorRate: f.old("max_error_rate", "constraint max_error_rate"),
			seed: f.old("random_seed", "seed"),
		},
	}
	f.old("processor", "tokenizer")
	if k := f.old("backend_type", "backend.kind"); k.set() && !g.backend.set() {
		g.backend = k.typed()
	}
	t.guideSeed(f.get("seed"), g.legacy.seed)
	t.guideLabels(f.get("label", "labels"))
	t.guideMetrics(f.get("metrics"))
	t.guideRest(f)
	f.close()
	if g.mapper.set() && !defaultMapper(g.mapper) && !g.fromFile() {
		g.mapper.needsTool("%q other than the tool's default is known to the real tool only", "data_column_mapper")
	}
	return g
}

// guideRest takes the keys that decide nothing about the load, or that only the tool itself follows.
func (t *translator) guideRest(f *fields) {
	f.noted("tokens are counted by the server here", "tokenizer")
	f.noted("has no effect: bflow export writes the results in other formats", "output", "outputs")
	f.noted(setByRunner, "target", "model", "output_path", "output_dir")
	f.ignore("disable_console", "disable_console_interactive", "disable_console_outputs", "disable_progress")
	f.toolOnly("config", "scenario")
	for _, name := range []string{"data_preprocessor", "data_preprocessors", "data_finalizer"} {
		if v := f.get(name); v.set() && !defaultMapper(v) {
			v.needsTool("%q other than the tool's default is known to the real tool only", name)
		}
	}
}

func defaultMapper(v value) bool {
	for _, item := range v.items() {
		f := item.typed().fields()
		switch f.get("kind").text() {
		case "generative_column_mapper", "generative", "encode_media":
		default:
			return false
		}
		for _, e := range f.entries {
			if v := e.value; e.key != "kind" && v.set() && !isZero(v) && v.node.Value != "client" {
				return false // the default has no settings of its own
			}
		}
	}
	return true
}

// old takes a key of GuideLLM up to 0.6 and says what it is called today.
func (f *fields) old(name, today string) value {
	v := f.get(name)
	if v.set() {
		v.notef("%q is a word of GuideLLM 0.6 and older, read as %s", name, today)
	}
	return v
}

func (t *translator) guideSeed(seed, old value) {
	t.m.Data.Seed = 42
	if old.set() {
		t.m.Data.Seed = old.seed()
	}
	if !seed.set() {
		return
	}
	if seed.is(yaml.ScalarNode) && seed.node.ShortTag() == "!!int" {
		t.m.Data.Seed = seed.seed()
		return
	}
	f := seed.typed().fields()
	if kind := f.get("kind").word("static", "random"); kind == "random" {
		seed.needsTool("a random seed")
	}
	if v := f.get("value"); v.set() {
		t.m.Data.Seed = v.seed()
	}
	f.close()
}

func (t *translator) guideLabels(v value) {
	for _, item := range v.items() {
		for k, text := range item.typed().texts() {
			if t.m.Labels == nil {
				t.m.Labels = map[string]string{}
			}
			t.m.Labels[k] = text
		}
	}
}

func (t *translator) guideMetrics(v value) {
	f := v.typed().fields()
	f.ignore("kind", "sample_size", "prefer_response_metrics", "confidence", "warnings")
	if slo := f.get("slo"); slo.set() {
		t.slo = guideGoodput(slo)
	}
	f.close()
}

// guideGoodput reads objectives in milliseconds.
func guideGoodput(v value) *runplan.SLO {
	f := v.fields()
	g := &runplan.Goodput{
		TTFT: f.get("ttft_ms").seconds(time.Millisecond),
		TPOT: f.get("tpot_ms").seconds(time.Millisecond),
		E2E:  f.get("e2el_ms").seconds(time.Millisecond),
	}
	f.close()
	return &runplan.SLO{Goodput: g, OnBreach: "report"}
}

package guidellm

import (
	"time"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// block is a guidellm block, each part where it stands.
type block struct {
	at, backend, profile, data, loader, mapper, warmup tool.Value

	override, constraint tool.Value
	legacy               legacyBlock
	own                  bool // constraint is the pre-warm-up's own: overrides do not reach it
}

// legacyBlock holds the words of GuideLLM up to 0.6.
type legacyBlock struct {
	rateType, rate, maxSeconds, maxRequests, maxErrorRate, seed tool.Value
}

// Translate reads the block of a profile.
func (Tool) Translate(d *tool.Draft) {
	d.API = runplan.API{Stream: true, VerifyTLS: true, ExactOutput: true,
		Timeout: runplan.Duration(600 * time.Second)}
	if !d.Block.IsSet() {
		d.Block.Errorf("needs a guidellm block")
		return
	}
	g := readBlock(d, d.Block)
	readBackend(d, g.backend)
	addWarmup(d, g)
	points := pointsOf(d, g)
	for i, p := range points {
		p.last = i == len(points)-1
		addStage(d, g, p)
	}
	if len(d.Stages) > 0 {
		d.SettleData()
	}
}

func readBlock(d *tool.Draft, v tool.Value) block {
	f := v.Fields()
	g := block{
		at: v, backend: f.Get("backend"), profile: f.Get("profile").Typed(),
		data: f.Get("data").TypedItems(), loader: f.Get("data_loader").Typed(),
		mapper: f.Get("data_column_mapper").Typed(), warmup: f.Get("pre_warmup"),
		override:   f.Get("override", "overrides"),
		constraint: f.Get("constraint", "constraints").TypedItems(),
		legacy: legacyBlock{
			rateType:     readOld(f, "rate_type", "profile.kind"),
			rate:         readOld(f, "rate", "profile.streams or profile.rate"),
			maxSeconds:   readOld(f, "max_seconds", "constraint max_duration"),
			maxRequests:  readOld(f, "max_requests", "constraint max_requests"),
			maxErrorRate: readOld(f, "max_error_rate", "constraint max_error_rate"),
			seed:         readOld(f, "random_seed", "seed"),
		},
	}
	readOld(f, "processor", "tokenizer")
	if k := readOld(f, "backend_type", "backend.kind"); k.IsSet() && !g.backend.IsSet() {
		g.backend = k.Typed()
	}
	readSeed(d, f.Get("seed"), g.legacy.seed)
	readLabels(d, f.Get("label", "labels"))
	readMetrics(d, f.Get("metrics"))
	readRest(d, f)
	f.Close()
	if g.mapper.IsSet() && !defaultMapper(g.mapper) && !g.fromFile() {
		g.mapper.NotTheDefault("data_column_mapper")
	}
	return g
}

// readRest takes the keys that decide nothing about the load, or that only the tool itself follows.
func readRest(d *tool.Draft, f *tool.Fields) {
	f.Noted(tool.CountedByServer, "tokenizer")
	f.Noted("has no effect: bflow export writes the results in other formats", "output", "outputs")
	f.Noted(tool.SetByRunner, "target", "model", "output_path", "output_dir")
	f.Ignore("disable_console", "disable_console_interactive", "disable_console_outputs", "disable_progress")
	f.ToolOnly("config", "scenario")
	for _, name := range []string{"data_preprocessor", "data_preprocessors", "data_finalizer"} {
		if v := f.Get(name); v.IsSet() && !defaultMapper(v) {
			v.NotTheDefault(name)
		}
	}
}

func defaultMapper(v tool.Value) bool {
	for _, item := range v.Items() {
		f := item.Typed().Fields()
		switch f.Get("kind").Text() {
		case "generative_column_mapper", "generative", "encode_media":
		default:
			return false
		}
		for _, e := range f.Entries {
			if v := e.Value; e.Key != "kind" && v.IsSet() && !v.IsEmpty() && v.Node.Value != "client" {
				return false // the default has no settings of its own
			}
		}
	}
	return true
}

// readOld takes a key of GuideLLM up to 0.6 and says what it is called today.
func readOld(f *tool.Fields, name, today string) tool.Value {
	v := f.Get(name)
	if v.IsSet() {
		v.Notef("%q is a word of GuideLLM 0.6 and older, read as %s", name, today)
	}
	return v
}

func readSeed(d *tool.Draft, seed, old tool.Value) {
	d.Data.Seed = 42
	if old.IsSet() {
		d.Data.Seed = old.Seed()
	}
	if !seed.IsSet() {
		return
	}
	if seed.Is(yaml.ScalarNode) && seed.Node.ShortTag() == "!!int" {
		d.Data.Seed = seed.Seed()
		return
	}
	f := seed.Typed().Fields()
	if kind := f.Get("kind").Word("static", "random"); kind == "random" {
		seed.NeedsTool("a random seed")
	}
	if v := f.Get("value"); v.IsSet() {
		d.Data.Seed = v.Seed()
	}
	f.Close()
}

func readLabels(d *tool.Draft, v tool.Value) {
	for _, item := range v.Items() {
		for k, text := range item.Typed().Texts() {
			if d.Labels == nil {
				d.Labels = map[string]string{}
			}
			d.Labels[k] = text
		}
	}
}

func readMetrics(d *tool.Draft, v tool.Value) {
	f := v.Typed().Fields()
	f.Ignore("kind", "sample_size", "prefer_response_metrics", "confidence", "warnings")
	if slo := f.Get("slo"); slo.IsSet() {
		d.SLO = readGoodput(slo)
	}
	f.Close()
}

// readGoodput reads objectives in milliseconds.
func readGoodput(v tool.Value) *runplan.SLO {
	f := v.Fields()
	g := &runplan.Goodput{
		TTFT: f.Get("ttft_ms").Seconds(time.Millisecond),
		TPOT: f.Get("tpot_ms").Seconds(time.Millisecond),
		E2E:  f.Get("e2el_ms").Seconds(time.Millisecond),
	}
	f.Close()
	return &runplan.SLO{Goodput: g, OnBreach: "report"}
}

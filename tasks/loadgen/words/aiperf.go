package words

import (
	"slices"
	"strings"

	"bflow.dev/bflow/load"
	"bflow.dev/bflow/load/shape"
)

// aiperf reads the flags of `aiperf profile`, whose defaults are the tool's: no streaming, a chat, 550 tokens.
func (p *parser) aiperf(args []string) {
	p.req.Tool = load.AIPerf
	flags := p.aiperfFlags(args)
	p.block = mapping()
	for _, f := range flags {
		if len(f.values) > 0 && !slices.Contains(aiperfOwn(), f.name) {
			p.aiperfFlag(f)
		}
	}
	p.aiperfServer(flags)
	p.aiperfDefaults()
	p.aiperfOutputs(flags)
}

// aiperfOwn are flags that are ours to follow, not the translation's.
func aiperfOwn() []string {
	return []string{"model-names", "url", "api-key", "output-artifact-dir", "profile-export-prefix", "export-level", "config"}
}

// aiperfFlags reads the flags under their first spelling; --no-flag switches one off.
func (p *parser) aiperfFlags(args []string) []flagged {
	arities := map[string]arity{}
	for n, names := range map[arity][]string{none: aiperfSwitches(), some: aiperfLists(), one: aiperfValues()} {
		for _, name := range names {
			arities[name] = n
		}
	}
	arities["gpu-telemetry"], arities["server-metrics"] = free, free
	for alias, name := range aiperfAliases() {
		arities[alias] = arities[name]
	}
	off := func(name string) (string, bool) {
		base, ok := strings.CutPrefix(name, "no-")
		return base, ok && slices.Contains(aiperfSwitches(), base)
	}
	var known []string
	for name := range arities {
		known = append(known, "--"+name)
	}
	slices.Sort(known)
	takes := func(name string) (arity, bool) {
		if n, ok := arities[name]; ok {
			return n, ok
		}
		_, ok := off(name)
		return none, ok
	}
	flags := p.readFlags(args, takes, func(word string) { p.unknown(word, known) })
	for i, f := range flags {
		if name, ok := aiperfAliases()[f.name]; ok {
			flags[i].name = name
		}
		if _, ok := arities[f.name]; !ok {
			flags[i].name, _ = off(f.name)
			flags[i].values = []string{"false"}
		}
	}
	return flags
}

// aiperfFlag writes one flag into the block; lists that are repeated grow.
func (p *parser) aiperfFlag(f flagged) {
	key := strings.ReplaceAll(f.name, "-", "_")
	if !slices.Contains(aiperfLists(), f.name) {
		put(p.block, p.text(f.word, f.values[len(f.values)-1]), key)
		return
	}
	have := child(p.block, key)
	if have == nil {
		have = list()
		have.Line = p.origin(f.word)
		set(p.block, key, have)
	}
	for _, v := range f.values {
		have.Content = append(have.Content, p.text(f.word, v))
	}
}

func (p *parser) aiperfServer(flags []flagged) {
	url, word := "localhost:8000", "--url"
	for _, f := range flags {
		switch f.name {
		case "url":
			if len(f.values) > 1 || url != "localhost:8000" {
				p.only(f.word, "AIPerf")
			}
			url, word = f.values[0], f.word
		case "model-names":
			if p.req.Model != "" || len(f.values) > 1 || strings.Contains(f.values[0], ",") {
				p.only(f.word, "AIPerf")
			}
			p.req.Model = f.values[0]
		case "config":
			p.only(f.word, "AIPerf")
		}
	}
	p.endpoint(word, url)
	if key, _, ok := last(flags, "api-key"); ok {
		p.req.Key = Key(key)
	}
	for _, name := range p.names {
		if name == "AIPERF_HTTP_SSL_VERIFY" {
			p.settings[name] = p.env[name]
		}
	}
}

// aiperfDefaults writes down what the tool does without a word.
func (p *parser) aiperfDefaults() {
	weak := func(value string, path ...string) {
		if at(p.block, path...) == nil {
			put(p.block, p.text("the default of AIPerf", value), path...)
		}
	}
	weak("false", "streaming")
	weak("chat", "endpoint_type")
	source := false
	for _, key := range []string{"input_file", "public_dataset", "prompt_input_tokens_mean"} {
		source = source || at(p.block, key) != nil
	}
	if !source {
		weak("550", "prompt_input_tokens_mean")
	}
	if n := at(p.block, "input_file"); n != nil && at(p.block, "custom_dataset_type") == nil {
		p.incomplete = true
		p.errorf(p.word(n.Line), "name its format: --custom-dataset-type mooncake_trace or single_turn")
	}
	if at(p.block, "benchmark_duration") == nil {
		p.after = append(p.after, p.aiperfEndless)
	}
}

// aiperfEndless drops the limit of time that the format puts where the tool has none.
func (p *parser) aiperfEndless() {
	d := p.req.Measure.Data
	for i := range p.req.Measure.Stages {
		s := &p.req.Measure.Stages[i]
		if s.Measure && s.Requests == 0 && d.Conversations > 0 && !d.Reuse {
			s.Requests = d.Conversations * d.Turns
		}
		if s.Measure && (s.Requests > 0 || shape.Of(s.Shape).Replays) {
			s.Duration = 0
		}
	}
}

func (p *parser) aiperfOutputs(flags []flagged) {
	o := Output{Format: FormatAIPerf, Path: "artifacts", Folder: true}
	if v, _, ok := last(flags, "output-artifact-dir"); ok {
		o.Path = v
	}
	if v, _, ok := last(flags, "profile-export-prefix"); ok {
		o.Prefix = v
	}
	level, _, ok := last(flags, "export-level")
	o.Detailed = !ok || level != "summary"
	p.req.Outputs = append(p.req.Outputs, o)
}

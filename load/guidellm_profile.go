package load

import (
	"slices"
	"strings"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
)

// point is one stage to come: its place, its load value (nil where the profile has none) and its shape.
type point struct {
	at    value
	index int
	load  *float64
	stage runplan.Stage
	last  bool
}

// profileWords are the fields that a profile kind takes beside those of all kinds, the load value first; false for
// a kind that is not read here.
func profileWords(kind string) ([]string, bool) {
	switch kind {
	case "synchronous":
		return nil, true
	case "concurrent":
		return []string{"streams"}, true
	case "throughput":
		return []string{"max_concurrency"}, true
	case "constant", "poisson":
		return []string{"rate", "max_concurrency"}, true
	case "sweep":
		return []string{"sweep_size", "strategy_type", "max_concurrency"}, true
	case "replay":
		return []string{"time_scale", "schedule_turn"}, true
	case "goodput":
		return []string{"target_attainment", "initial_streams", "max_streams", "tolerance", "max_probes", "confidence"}, true
	case "knee":
		return []string{"initial_streams", "min_streams", "max_streams", "count", "adaptive", "points_each_side", "max_step"}, true
	}
	return nil, false
}

// overridable are the fields that override may name, below profile.
func overridable() []string {
	return []string{"streams", "rate", "max_concurrency", "sweep_size"}
}

// guideProfile is a profile with its overrides, before templates are filled in.
type guideProfile struct {
	kind   string
	fields *fields
	over   map[string]value
	rates  value // overrides.benchmark.rates, the strongest
	old    value // rate of GuideLLM 0.6
}

func (t *translator) guideProfile(g guide) guideProfile {
	p := guideProfile{fields: g.profile.fields(), rates: t.over.rates, old: g.legacy.rate}
	p.kind = t.guideKind(p.fields.get("kind"), g.legacy.rateType)
	if p.rates.set() {
		if !p.fields.get("kind").set() && !g.legacy.rateType.set() {
			p.kind = "concurrent"
		}
	} else {
		p.over = t.guideOverride(g.override)
	}
	p.check()
	return p
}

func (t *translator) guideKind(v, old value) string {
	if !v.set() {
		v = old
	}
	kind := v.word("synchronous", "concurrent", "throughput", "constant", "async", "poisson", "sweep", "replay", "goodput", "knee")
	switch {
	case v.set() && !strings.EqualFold(v.text(), kind):
		return "" // reported; nothing more can be said of its fields
	case kind == "async":
		return "constant"
	}
	return kind
}

// check reports the fields that the kind does not take.
func (p guideProfile) check() {
	words, known := profileWords(p.kind)
	p.fields.ignore("rampup_duration", "warmup", "cooldown")
	if !known { // the real tool's business, or a mistake
		for _, e := range p.fields.entries {
			p.fields.ignore(e.key)
		}
		return
	}
	p.fields.ignore(words...)
	for _, name := range []string{"streams", "rate", "max_concurrency", "sweep_size", "strategy_type", "time_scale"} {
		v := p.fields.get(name)
		if v.set() && !slices.Contains(words, name) && !p.oldRate(name) {
			v.errorf("kind %q takes no %q", p.kind, name)
		}
	}
	p.fields.close()
}

// oldRate reports the rate of old files, where it was the load value of every kind.
func (p guideProfile) oldRate(name string) bool {
	return name == "rate" && !slices.Contains([]string{"synchronous", "replay", "goodput", "knee"}, p.kind)
}

func (t *translator) guideOverride(v value) map[string]value {
	out := map[string]value{}
	for _, pair := range v.pairsOf() {
		field, ok := strings.CutPrefix(pair.key, "profile.")
		switch {
		case ok && slices.Contains(overridable(), field):
			out[field] = pair.value
		case slices.ContainsFunc(toolPaths(), func(p string) bool { return strings.HasPrefix(pair.key, p) }):
			pair.value.needsTool("override of %q", pair.key)
		default:
			t.unknownOverride(pair)
		}
	}
	return out
}

func (t *translator) unknownOverride(e entry) {
	var known []string
	for _, f := range overridable() {
		known = append(known, "profile."+f)
	}
	e.keyAt.errorf("%s", problem.UnknownField(e.key, known))
}

// toolPaths are the parts of a GuideLLM scenario that its own override reaches.
func toolPaths() []string {
	return []string{"backend.", "constraints.", "constraints[", "data.", "data[", "data_loader.", "tokenizer.", "seed.", "metrics."}
}

// pairsOf reads a map, a list of maps, or a list of [key, value] pairs.
func (v value) pairsOf() []entry {
	if !v.set() {
		return nil
	}
	var out []entry
	for _, item := range v.items() {
		if two := item.items(); len(two) == 2 && item.path != v.path && two[0].path != item.path {
			out = append(out, entry{key: two[0].text(), keyAt: two[0], value: two[1]})
			continue
		}
		out = append(out, item.typed().fields().entries...)
	}
	return out
}

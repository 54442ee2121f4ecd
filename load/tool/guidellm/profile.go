package guidellm

import (
	"slices"
	"strings"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// point is one stage to come: its place, its load value (nil where the profile has none) and its shape.
type point struct {
	at    tool.Value
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
		return []string{"initial_streams", "min_streams", "max_streams", "count", "adaptive", "points_each_side",
			"max_step"}, true
	}
	return nil, false
}

// overridable are the fields that override may name, below profile.
func overridable() []string {
	return []string{"streams", "rate", "max_concurrency", "sweep_size"}
}

// profile is a profile with its overrides, before templates are filled in.
type profile struct {
	kind   string
	fields *tool.Fields
	over   map[string]tool.Value
	rates  tool.Value // overrides.benchmark.rates, the strongest
	old    tool.Value // rate of GuideLLM 0.6
}

func readProfile(d *tool.Draft, g block) profile {
	p := profile{fields: g.profile.Fields(), rates: d.Over.Rates, old: g.legacy.rate}
	p.kind = readKind(d, p.fields.Get("kind"), g.legacy.rateType)
	if p.rates.IsSet() {
		if !p.fields.Get("kind").IsSet() && !g.legacy.rateType.IsSet() {
			p.kind = "concurrent"
		}
	} else {
		p.over = readOverride(d, g.override)
	}
	p.check()
	return p
}

func readKind(d *tool.Draft, v, old tool.Value) string {
	if !v.IsSet() {
		v = old
	}
	kind := v.Word("synchronous", "concurrent", "throughput", "constant", "async", "poisson", "sweep", "replay", "goodput",
		"knee")
	switch {
	case v.IsSet() && !strings.EqualFold(v.Text(), kind):
		return "" // reported; nothing more can be said of its fields
	case kind == "async":
		return "constant"
	}
	return kind
}

// check reports the fields that the kind does not take.
func (p profile) check() {
	words, known := profileWords(p.kind)
	p.fields.Ignore("rampup_duration", "warmup", "cooldown")
	if !known { // the real tool's business, or a mistake
		for _, e := range p.fields.Entries {
			p.fields.Ignore(e.Key)
		}
		return
	}
	p.fields.Ignore(words...)
	for _, name := range []string{"streams", "rate", "max_concurrency", "sweep_size", "strategy_type", "time_scale"} {
		v := p.fields.Get(name)
		if v.IsSet() && !slices.Contains(words, name) && !p.oldRate(name) {
			v.Errorf("kind %q takes no %q", p.kind, name)
		}
	}
	p.fields.Close()
}

// oldRate reports the rate of old files, where it was the load value of every kind.
func (p profile) oldRate(name string) bool {
	return name == "rate" && !slices.Contains([]string{"synchronous", "replay", "goodput", "knee"}, p.kind)
}

func readOverride(d *tool.Draft, v tool.Value) map[string]tool.Value {
	out := map[string]tool.Value{}
	for _, pair := range pairsOf(v) {
		field, ok := strings.CutPrefix(pair.Key, "profile.")
		switch {
		case ok && slices.Contains(overridable(), field):
			out[field] = pair.Value
		case slices.ContainsFunc(toolPaths(), func(p string) bool { return strings.HasPrefix(pair.Key, p) }):
			pair.Value.NeedsTool("override of %q", pair.Key)
		default:
			reportOverride(d, pair)
		}
	}
	return out
}

func reportOverride(d *tool.Draft, e tool.Entry) {
	var known []string
	for _, f := range overridable() {
		known = append(known, "profile."+f)
	}
	e.KeyAt.Errorf("%s", problem.UnknownField(e.Key, known))
}

// toolPaths are the parts of a GuideLLM scenario that its own override reaches.
func toolPaths() []string {
	return []string{"backend.", "constraints.", "constraints[", "data.", "data[", "data_loader.", "tokenizer.", "seed.",
		"metrics."}
}

// pairsOf reads a map, a list of maps, or a list of [key, value] pairs.
func pairsOf(v tool.Value) []tool.Entry {
	if !v.IsSet() {
		return nil
	}
	var out []tool.Entry
	for _, item := range v.Items() {
		if two := item.Items(); len(two) == 2 && item.Path != v.Path && two[0].Path != item.Path {
			out = append(out, tool.Entry{Key: two[0].Text(), KeyAt: two[0], Value: two[1]})
			continue
		}
		out = append(out, item.Typed().Fields().Entries...)
	}
	return out
}

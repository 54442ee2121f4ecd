package load

import (
	"fmt"
	"slices"

	"bflow.dev/bflow/runplan"
)

// field returns a field of the profile as it is in effect.
func (p guideProfile) field(name string) value {
	if v, ok := p.over[name]; ok {
		return v
	}
	return p.fields.get(name)
}

// loads returns the load values, which stand in the field called name.
func (p guideProfile) loads(name string) value {
	if p.rates.set() {
		return p.rates
	}
	if v := p.field(name); v.set() {
		return v
	}
	if v := p.fields.get("rate"); v.set() {
		v.notef("%q is a word of GuideLLM 0.6 and older, read as profile.%s", "rate", name)
		return v
	}
	return p.old
}

// guidePoints lists the stages of g's profile, in order.
func (t *translator) guidePoints(g guide) []point {
	p := t.guideProfile(g)
	if p.rates.set() && !slices.Contains([]string{"concurrent", "throughput", "constant", "poisson"}, p.kind) {
		p.rates.errorf("profile kind %q takes no load values", p.kind)
	}
	switch p.kind {
	case "synchronous":
		return []point{{at: g.profileAt(), stage: runplan.Stage{Name: "synchronous", Shape: runplan.ShapeClosed, Concurrency: 1}}}
	case "concurrent", "constant", "poisson":
		return t.pointsPerLoad(g, p)
	case "throughput":
		return t.throughputPoints(g, p)
	case "sweep":
		return t.sweepPoints(g, p)
	case "replay":
		return []point{{at: g.profileAt(), stage: runplan.Stage{Shape: runplan.ShapeTrace}}}
	case "knee":
		return kneePoints(g, p)
	case "goodput":
		t.guideSearch(g, p)
		return nil
	default:
		return nil
	}
}

// profileAt is where a problem of the profile is reported: at the block when there is no profile.
func (g guide) profileAt() value {
	if g.profile.set() {
		return g.profile
	}
	return g.at
}

func (t *translator) pointsPerLoad(g guide, p guideProfile) []point {
	name := "rate"
	if p.kind == "concurrent" {
		name = "streams"
	}
	v := p.loads(name)
	if !v.set() {
		g.profileAt().errorf("kind %q needs %q", p.kind, name)
	}
	var out []point
	for i, x := range v.numbers(p.kind == "concurrent") {
		out = append(out, point{at: v, index: i, load: &x, stage: t.loadStage(p, i, x)})
	}
	return out
}

func (t *translator) loadStage(p guideProfile, i int, x float64) runplan.Stage {
	if p.kind == "concurrent" {
		return runplan.Stage{Shape: runplan.ShapeClosed, Concurrency: int(x)}
	}
	return runplan.Stage{
		Shape: runplan.ShapeOpen, Rate: x, Arrival: p.kind,
		MaxInflight: nth(p.field("max_concurrency").expand(&x), i).integer(1),
	}
}

func (t *translator) throughputPoints(g guide, p guideProfile) []point {
	v := p.loads("max_concurrency")
	if !v.set() {
		return []point{{at: g.profileAt(), stage: runplan.Stage{Shape: runplan.ShapeThroughput, MaxInflight: t.throughputCap()}}}
	}
	var out []point
	for i, x := range v.numbers(true) {
		out = append(out, point{at: v, index: i, load: &x, stage: runplan.Stage{Shape: runplan.ShapeThroughput, MaxInflight: int(x)}})
	}
	return out
}

// throughputCap is the tool's cap for a throughput profile that names none; 0 = everything at once.
func (t *translator) throughputCap() int { return t.envInt("GUIDELLM__MAX_CONCURRENCY", 0) }

// sweepPoints measures the two ends, then the rates between them.
func (t *translator) sweepPoints(g guide, p guideProfile) []point {
	n := t.envInt("GUIDELLM__DEFAULT_SWEEP_NUMBER", 10)
	size := p.loads("sweep_size")
	if items := size.commaItems(); len(items) > 1 {
		size.needsTool("several sweeps in one benchmark")
	} else if size.set() && len(items) == 1 {
		n = items[0].integer(2)
	} else if size.set() {
		size.errorf("want one number of points")
	}
	limit := 512
	if v := p.field("max_concurrency"); v.set() {
		limit = nth(v, 0).integer(1)
	}
	first := len(t.m.Stages)
	out := []point{
		{at: g.profileAt(), stage: runplan.Stage{Name: "sweep-low", Shape: runplan.ShapeClosed, Concurrency: 1}},
		{at: g.profileAt(), index: 1, stage: runplan.Stage{Name: "sweep-high", Shape: runplan.ShapeThroughput, MaxInflight: limit}},
	}
	arrival := p.fields.get("strategy_type").word("constant", "poisson")
	for i := 1; i <= n-2; i++ {
		between := &runplan.Between{Low: first, High: first + 1, Fraction: float64(i) / float64(n-2)}
		out = append(out, point{at: g.profileAt(), index: i + 1, stage: runplan.Stage{
			Name: fmt.Sprintf("sweep-%d", i), Shape: runplan.ShapeOpen, Between: between, Arrival: arrival, MaxInflight: limit,
		}})
	}
	return out
}

// guideWarmup adds the stage of pre_warmup: the main profile at one load value, its own keys replacing those of g.
func (t *translator) guideWarmup(g guide) {
	if !g.warmup.set() {
		return
	}
	f := g.warmup.fields()
	enabled := f.get("enabled").booleanOr(true)
	rate := f.get("rate", "rates")
	replaced(&g.profile, f.get("profile").typed())
	replaced(&g.override, f.get("override", "overrides"))
	replaced(&g.data, f.get("data").typedItems())
	replaced(&g.loader, f.get("data_loader").typed())
	if own := f.get("constraint", "constraints").typedItems(); own.set() {
		g.constraint, g.own = own, true
	}
	f.toolOnly("backend", "tokenizer", "seed", "data_column_mapper", "data_preprocessor", "data_preprocessors", "data_finalizer", "config", "scenario")
	f.ignore("label", "labels", "output", "outputs", "metrics", "disable_console", "disable_console_interactive")
	f.close()
	if loads := t.warmupLoad(g.warmup, rate); enabled && loads > 0 {
		t.guideStage(g, t.warmupPoint(g, rate, loads))
	}
}

func (t *translator) warmupLoad(at, rate value) float64 {
	items := rate.items()
	if len(items) != 1 {
		at.errorf("needs one load value: rate: N or rates: [N]")
		return 0
	}
	return items[0].positive()
}

func (t *translator) warmupPoint(g guide, at value, x float64) point {
	p := t.guideProfile(g)
	s := runplan.Stage{Shape: runplan.ShapeClosed, Concurrency: int(x)}
	switch p.kind {
	case "constant", "poisson":
		s = t.loadStage(p, 0, x)
	case "throughput":
		s = runplan.Stage{Shape: runplan.ShapeThroughput, MaxInflight: int(x)}
	}
	if s.Shape != runplan.ShapeOpen {
		at.items()[0].integer(1)
	}
	s.Name = "warmup"
	return point{at: g.warmup, load: &x, stage: s}
}

package guidellm

import (
	"fmt"
	"slices"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// field returns a field of the profile as it is in effect.
func (p profile) field(name string) tool.Value {
	if v, ok := p.over[name]; ok {
		return v
	}
	return p.fields.Get(name)
}

// loads returns the load values, which stand in the field called name.
func (p profile) loads(name string) tool.Value {
	if p.rates.IsSet() {
		return p.rates
	}
	if v := p.field(name); v.IsSet() {
		return v
	}
	if v := p.fields.Get("rate"); v.IsSet() {
		v.Notef("%q is a word of GuideLLM 0.6 and older, read as profile.%s", "rate", name)
		return v
	}
	return p.old
}

// pointsOf lists the stages of g's profile, in order.
func pointsOf(d *tool.Draft, g block) []point {
	p := readProfile(d, g)
	if p.rates.IsSet() && !slices.Contains([]string{"concurrent", "throughput", "constant", "poisson"}, p.kind) {
		p.rates.Errorf("profile kind %q takes no load values", p.kind)
	}
	switch p.kind {
	case "synchronous":
		s := runplan.Stage{Name: "synchronous", Shape: runplan.ShapeClosed, Concurrency: 1}
		return []point{{at: g.profileAt(), stage: s}}
	case "concurrent", "constant", "poisson":
		return pointsPerLoad(d, g, p)
	case "throughput":
		return throughputPoints(d, g, p)
	case "sweep":
		return sweepPoints(d, g, p)
	case "replay":
		return []point{{at: g.profileAt(), stage: runplan.Stage{Shape: runplan.ShapeTrace}}}
	case "knee":
		return kneePoints(g, p)
	case "goodput":
		readSearch(d, g, p)
		return nil
	default:
		return nil
	}
}

// profileAt is where a problem of the profile is reported: at the block when there is no profile.
func (g block) profileAt() tool.Value {
	if g.profile.IsSet() {
		return g.profile
	}
	return g.at
}

func pointsPerLoad(d *tool.Draft, g block, p profile) []point {
	name := "rate"
	if p.kind == "concurrent" {
		name = "streams"
	}
	v := p.loads(name)
	if !v.IsSet() {
		g.profileAt().Errorf("kind %q needs %q", p.kind, name)
	}
	var out []point
	for i, x := range v.Numbers(p.kind == "concurrent") {
		out = append(out, point{at: v, index: i, load: &x, stage: loadStage(d, p, i, x)})
	}
	return out
}

func loadStage(d *tool.Draft, p profile, i int, x float64) runplan.Stage {
	if p.kind == "concurrent" {
		return runplan.Stage{Shape: runplan.ShapeClosed, Concurrency: int(x)}
	}
	return runplan.Stage{
		Shape: runplan.ShapeOpen, Rate: x, Arrival: p.kind,
		MaxInflight: tool.Nth(p.field("max_concurrency").Expand(&x), i).Integer(1),
	}
}

func throughputPoints(d *tool.Draft, g block, p profile) []point {
	v := p.loads("max_concurrency")
	if !v.IsSet() {
		s := runplan.Stage{Shape: runplan.ShapeThroughput, MaxInflight: throughputCap(d)}
		return []point{{at: g.profileAt(), stage: s}}
	}
	var out []point
	for i, x := range v.Numbers(true) {
		s := runplan.Stage{Shape: runplan.ShapeThroughput, MaxInflight: int(x)}
		out = append(out, point{at: v, index: i, load: &x, stage: s})
	}
	return out
}

// throughputCap is the tool's cap for a throughput profile that names none; 0 = everything at once.
func throughputCap(d *tool.Draft) int { return d.EnvInt("GUIDELLM__MAX_CONCURRENCY", 0) }

// sweepPoints measures the two ends, then the rates between them.
func sweepPoints(d *tool.Draft, g block, p profile) []point {
	n := d.EnvInt("GUIDELLM__DEFAULT_SWEEP_NUMBER", 10)
	size := p.loads("sweep_size")
	if items := size.CommaItems(); len(items) > 1 {
		size.NeedsTool("several sweeps in one benchmark")
	} else if size.IsSet() && len(items) == 1 {
		n = items[0].Integer(2)
	} else if size.IsSet() {
		size.Errorf("want one number of points")
	}
	limit := 512
	if v := p.field("max_concurrency"); v.IsSet() {
		limit = tool.Nth(v, 0).Integer(1)
	}
	first := len(d.Stages)
	low := runplan.Stage{Name: "sweep-low", Shape: runplan.ShapeClosed, Concurrency: 1}
	high := runplan.Stage{Name: "sweep-high", Shape: runplan.ShapeThroughput, MaxInflight: limit}
	out := []point{{at: g.profileAt(), stage: low}, {at: g.profileAt(), index: 1, stage: high}}
	arrival := p.fields.Get("strategy_type").Word("constant", "poisson")
	for i := 1; i <= n-2; i++ {
		between := &runplan.Between{Low: first, High: first + 1, Fraction: float64(i) / float64(n-2)}
		out = append(out, point{at: g.profileAt(), index: i + 1, stage: runplan.Stage{
			Name: fmt.Sprintf("sweep-%d", i), Shape: runplan.ShapeOpen, Between: between, Arrival: arrival, MaxInflight: limit,
		}})
	}
	return out
}

// addWarmup adds the stage of pre_warmup: the main profile at one load value, its own keys replacing those of g.
func addWarmup(d *tool.Draft, g block) {
	if !g.warmup.IsSet() {
		return
	}
	f := g.warmup.Fields()
	enabled := f.Get("enabled").BoolOr(true)
	rate := f.Get("rate", "rates")
	tool.Replace(&g.profile, f.Get("profile").Typed())
	tool.Replace(&g.override, f.Get("override", "overrides"))
	tool.Replace(&g.data, f.Get("data").TypedItems())
	tool.Replace(&g.loader, f.Get("data_loader").Typed())
	if own := f.Get("constraint", "constraints").TypedItems(); own.IsSet() {
		g.constraint, g.own = own, true
	}
	f.ToolOnly("backend", "tokenizer", "seed", "data_column_mapper", "data_preprocessor", "data_preprocessors",
		"data_finalizer", "config", "scenario")
	f.Ignore("label", "labels", "output", "outputs", "metrics", "disable_console", "disable_console_interactive")
	f.Close()
	if loads := warmupLoad(d, g.warmup, rate); enabled && loads > 0 {
		addStage(d, g, warmupPoint(d, g, rate, loads))
	}
}

func warmupLoad(d *tool.Draft, at, rate tool.Value) float64 {
	items := rate.Items()
	if len(items) != 1 {
		at.Errorf("needs one load value: rate: N or rates: [N]")
		return 0
	}
	return items[0].Positive()
}

func warmupPoint(d *tool.Draft, g block, at tool.Value, x float64) point {
	p := readProfile(d, g)
	s := runplan.Stage{Shape: runplan.ShapeClosed, Concurrency: int(x)}
	switch p.kind {
	case "constant", "poisson":
		s = loadStage(d, p, 0, x)
	case "throughput":
		s = runplan.Stage{Shape: runplan.ShapeThroughput, MaxInflight: int(x)}
	}
	if s.Shape != runplan.ShapeOpen {
		at.Items()[0].Integer(1)
	}
	s.Name = "warmup"
	return point{at: g.warmup, load: &x, stage: s}
}

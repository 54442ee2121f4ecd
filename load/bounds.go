package load

import (
	"time"

	"bflow.dev/bflow/runplan"
)

// bounds is what ends a stage.
type bounds struct {
	duration runplan.Duration
	requests int
	answered bool // requests are counted when they are answered
	stop     []runplan.StopRule
	forAll   value // set: a duration or a request count ends the whole benchmark
}

func constraintKinds() []string {
	return []string{
		"max_duration", "max_requests", "min_requests", "max_errors", "max_error_rate", "max_global_error_rate", "over_saturation",
	}
}

// constraint adds one entry of a constraint list; i is the stage's place, for entries that hold a list of values.
func (b *bounds) constraint(v value, i int) {
	f := v.fields()
	kind := f.must("kind").word(constraintKinds()...)
	scope := f.get("stopping_scope")
	all := scope.word("current", "all") == "all"
	switch kind {
	case "max_duration":
		b.duration = nth(f.must("seconds"), i).positiveSeconds()
	case "max_requests", "min_requests":
		b.requests = nth(f.must("count"), i).integer(1)
		b.answered = kind == "min_requests"
	default:
		b.stop = append(b.stop, stopRule(kind, f, all))
		all = false
	}
	if all {
		b.forAll = scope
	}
	f.close()
}

// stopRule reads the fields of a rule that ends a stage early, with their defaults.
func stopRule(kind string, f *fields, all bool) runplan.StopRule {
	rule := runplan.StopRule{Kind: kind}
	if all {
		rule.Scope = "all"
	}
	switch kind {
	case "max_errors":
		rule.Numbers = map[string]float64{"count": float64(f.must("count").integer(1))}
	case "max_error_rate":
		rule.Numbers = map[string]float64{"rate": f.must("rate").fraction(), "window": f.numberOr("window", 30)}
	case "max_global_error_rate":
		rule.Numbers = map[string]float64{"rate": f.must("rate").fraction(), "minimum": f.numberOr("minimum", 30)}
	default:
		rule.Mode = f.get("mode").word("enforce", "monitor")
		rule.Numbers = map[string]float64{}
		for _, d := range saturationDefaults() {
			rule.Numbers[d.name] = f.numberOr(d.name, d.value)
		}
	}
	return rule
}

// numberDefault is a field and what it is when it is not set.
type numberDefault struct {
	name  string
	value float64
}

// saturationDefaults are GuideLLM's.
func saturationDefaults() []numberDefault {
	return []numberDefault{
		{"min_seconds", 30}, {"max_window_seconds", 120}, {"moe_threshold", 2}, {"minimum_ttft", 2.5},
		{"maximum_window_ratio", 0.75}, {"minimum_window_size", 5}, {"confidence", 0.95},
	}
}

// must is get for a key that has to be there.
func (f *fields) must(name string) value {
	v := f.get(name)
	if !v.set() {
		f.at.errorf("needs %q", name)
	}
	return v
}

func (f *fields) numberOr(name string, def float64) float64 {
	if v := f.get(name); v.set() {
		return v.positive()
	}
	return def
}

// nth picks the i-th entry of a list, the last one where it is shorter.
func nth(v value, i int) value {
	items := v.items()
	if len(items) == 0 {
		return v
	}
	return items[min(i, len(items)-1)]
}

// positiveSeconds reads a length of time above 0 in seconds.
func (v value) positiveSeconds() runplan.Duration {
	if v.set() && v.positive() == 0 {
		return 0
	}
	return v.seconds(time.Second)
}

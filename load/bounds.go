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

// constraintKinds are GuideLLM's: what bounds a benchmark, and what ends it early.
func constraintKinds() []string {
	kinds := []string{"max_duration", "max_requests", "min_requests"}
	for _, k := range stopKinds() {
		kinds = append(kinds, k.name)
	}
	return kinds
}

// stopKind is a kind of rule that ends a stage early, with the numbers that it takes.
type stopKind struct {
	name    string
	numbers []stopNumber
	hasMode bool
}

// stopNumber is a number of a rule, and what it is when it is not set.
type stopNumber struct {
	name     string
	value    float64
	required bool
}

// stopKinds has the defaults of GuideLLM.
func stopKinds() []stopKind {
	return []stopKind{
		{name: "max_errors", numbers: []stopNumber{{name: "count", required: true}}},
		{name: "max_error_rate", numbers: []stopNumber{{name: "rate", required: true}, {name: "window", value: 30}}},
		{name: "max_global_error_rate", numbers: []stopNumber{
			{name: "rate", required: true}, {name: "minimum", value: 30},
		}},
		{name: "over_saturation", hasMode: true, numbers: []stopNumber{
			{name: "min_seconds", value: 30}, {name: "max_window_seconds", value: 120}, {name: "moe_threshold", value: 2},
			{name: "minimum_ttft", value: 2.5}, {name: "maximum_window_ratio", value: 0.75},
			{name: "minimum_window_size", value: 5}, {name: "confidence", value: 0.95},
		}},
	}
}

// stopKindOf is the kind of a name, without numbers where there is none.
func stopKindOf(name string) stopKind {
	for _, k := range stopKinds() {
		if k.name == name {
			return k
		}
	}
	return stopKind{name: name}
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
func stopRule(name string, f *fields, all bool) runplan.StopRule {
	kind := stopKindOf(name)
	rule := runplan.StopRule{Kind: name, Numbers: map[string]float64{}}
	if all {
		rule.Scope = "all"
	}
	for _, n := range kind.numbers {
		switch n.name {
		case "count":
			rule.Numbers[n.name] = float64(f.must(n.name).integer(1))
		case "rate":
			rule.Numbers[n.name] = f.must(n.name).fraction()
		default:
			rule.Numbers[n.name] = f.numberOr(n.name, n.value)
		}
	}
	if kind.hasMode {
		rule.Mode = f.get("mode").word("enforce", "monitor")
	}
	return rule
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

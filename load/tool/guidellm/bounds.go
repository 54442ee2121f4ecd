package guidellm

import (
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// bounds is what ends a stage.
type bounds struct {
	tool.Bounds
	answered bool // requests are counted when they are answered
	stop     []runplan.StopRule
	forAll   tool.Value // set: a duration or a request count ends the whole benchmark
}

// constraintKinds are what bounds a benchmark, and what ends it early.
func constraintKinds() []string {
	kinds := []string{"max_duration", "max_requests", "min_requests"}
	for _, k := range tool.StopKinds() {
		kinds = append(kinds, k.Name)
	}
	return kinds
}

// constraint adds one entry of a constraint list; i is the stage's place, for entries that hold a list of values.
func (b *bounds) constraint(v tool.Value, i int) {
	f := v.Fields()
	kind := f.Must("kind").Word(constraintKinds()...)
	scope := f.Get("stopping_scope")
	all := scope.Word("current", "all") == "all"
	switch kind {
	case "max_duration":
		b.Duration = tool.Nth(f.Must("seconds"), i).PositiveSeconds()
	case "max_requests", "min_requests":
		b.Requests = tool.Nth(f.Must("count"), i).Integer(1)
		b.answered = kind == "min_requests"
	default:
		b.stop = append(b.stop, readStopRule(kind, f, all))
		all = false
	}
	if all {
		b.forAll = scope
	}
	f.Close()
}

// readStopRule reads the fields of a rule that ends a stage early, with their defaults.
func readStopRule(name string, f *tool.Fields, all bool) runplan.StopRule {
	kind := tool.StopKindOf(name)
	rule := runplan.StopRule{Kind: name, Numbers: map[string]float64{}}
	if all {
		rule.Scope = "all"
	}
	for _, n := range kind.Numbers {
		switch n.Name {
		case "count":
			rule.Numbers[n.Name] = float64(f.Must(n.Name).Integer(1))
		case "rate":
			rule.Numbers[n.Name] = f.Must(n.Name).Fraction()
		default:
			rule.Numbers[n.Name] = f.NumberOr(n.Name, n.Value)
		}
	}
	if kind.HasMode {
		rule.Mode = f.Get("mode").Word("enforce", "monitor")
	}
	return rule
}

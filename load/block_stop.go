package load

import (
	"cmp"
	"slices"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// stopValue is a number of a rule as the block has it; nil is not set.
type stopValue struct {
	name  string
	value *float64
}

// values are the numbers of r at a load value.
func (r *StopRule) values(load float64) []stopValue {
	whole := func(n *int) *float64 {
		if n == nil {
			return nil
		}
		return new(float64(*n))
	}
	var count *float64
	if r.Count.N > 0 {
		count = new(float64(r.Count.Of(load)))
	}
	return []stopValue{
		{"count", count}, {"rate", r.Rate}, {"window", whole(r.Window)}, {"minimum", whole(r.Minimum)},
		{"min_seconds", r.MinSeconds}, {"max_window_seconds", r.MaxWindowSeconds}, {"moe_threshold", r.MOEThreshold},
		{"minimum_ttft", r.MinimumTTFT}, {"maximum_window_ratio", r.MaximumWindowRatio},
		{"minimum_window_size", whole(r.MinimumWindowSize)}, {"confidence", r.Confidence},
	}
}

// check finds a rule without the number it is about, or with one of another kind.
func (r *StopRule) check() (out problem.Findings) {
	kind := tool.StopKindOf(r.Kind)
	if len(kind.Numbers) == 0 { // there is none of this name, which the decoder has said
		return nil
	}
	for _, v := range r.values(1) {
		i := slices.IndexFunc(kind.Numbers, func(n tool.StopNumber) bool { return n.Name == v.name })
		switch {
		case i < 0 && v.value != nil:
			out.Add(v.name, "kind %s takes no %s; remove it", r.Kind, v.name)
		case i >= 0 && v.value == nil && kind.Numbers[i].Required:
			out.Add(v.name, "required field is missing: kind %s needs it", r.Kind)
		}
	}
	if r.Mode != "" && !kind.HasMode {
		out.Add("mode", "kind %s takes no mode; remove it", r.Kind)
	}
	return out
}

// plan is the rule of a plan for a stage of a load value.
func (r *StopRule) plan(load float64) runplan.StopRule {
	kind := tool.StopKindOf(r.Kind)
	rule := runplan.StopRule{Kind: r.Kind, Numbers: map[string]float64{}}
	if r.Scope == "all" {
		rule.Scope = r.Scope
	}
	if kind.HasMode {
		rule.Mode = cmp.Or(r.Mode, "enforce")
	}
	values := r.values(load)
	for _, n := range kind.Numbers {
		rule.Numbers[n.Name] = n.Value
		i := slices.IndexFunc(values, func(v stopValue) bool { return v.name == n.Name })
		if v := values[i].value; v != nil {
			rule.Numbers[n.Name] = *v
		}
	}
	return rule
}

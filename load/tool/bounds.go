package tool

import (
	"time"

	"bflow.dev/bflow/runplan"
)

// Bounds is what ends a stage; 0 is no bound.
type Bounds struct {
	Duration runplan.Duration
	Requests int
}

// StopKind is a kind of rule that ends a stage early, with the numbers that it takes.
type StopKind struct {
	Name    string
	Numbers []StopNumber
	HasMode bool
}

// StopNumber is a number of a rule, and what it is when it is not set.
type StopNumber struct {
	Name     string
	Value    float64
	Required bool
}

// StopKinds are all kinds of rules. Their defaults are GuideLLM's.
func StopKinds() []StopKind {
	return []StopKind{
		{Name: "max_errors", Numbers: []StopNumber{{Name: "count", Required: true}}},
		{Name: "max_error_rate", Numbers: []StopNumber{{Name: "rate", Required: true}, {Name: "window", Value: 30}}},
		{Name: "max_global_error_rate", Numbers: []StopNumber{
			{Name: "rate", Required: true}, {Name: "minimum", Value: 30},
		}},
		{Name: "over_saturation", HasMode: true, Numbers: []StopNumber{
			{Name: "min_seconds", Value: 30}, {Name: "max_window_seconds", Value: 120}, {Name: "moe_threshold", Value: 2},
			{Name: "minimum_ttft", Value: 2.5}, {Name: "maximum_window_ratio", Value: 0.75},
			{Name: "minimum_window_size", Value: 5}, {Name: "confidence", Value: 0.95},
		}},
	}
}

// StopKindOf is the kind of a name, without numbers where there is none.
func StopKindOf(name string) StopKind {
	for _, k := range StopKinds() {
		if k.Name == name {
			return k
		}
	}
	return StopKind{Name: name}
}

// Must is Get for a key that has to be there.
func (f *Fields) Must(name string) Value {
	v := f.Get(name)
	if !v.IsSet() {
		f.At.Errorf("needs %q", name)
	}
	return v
}

// NumberOr reads a number above 0.
func (f *Fields) NumberOr(name string, def float64) float64 {
	if v := f.Get(name); v.IsSet() {
		return v.Positive()
	}
	return def
}

// CountOr reads a whole number of at least 1.
func (f *Fields) CountOr(def int, names ...string) int {
	if n := f.Get(names...).Integer(1); n > 0 {
		return n
	}
	return def
}

// Nth picks the i-th entry of a list, the last one where it is shorter.
func Nth(v Value, i int) Value {
	items := v.Items()
	if len(items) == 0 {
		return v
	}
	return items[min(i, len(items)-1)]
}

// PositiveSeconds reads a length of time above 0 in seconds.
func (v Value) PositiveSeconds() runplan.Duration {
	if v.IsSet() && v.Positive() == 0 {
		return 0
	}
	return v.Seconds(time.Second)
}

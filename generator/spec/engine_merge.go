package spec

import "reflect"

// MergeEngine returns base with every field that over sets, sim field by field; either may be nil. Neither is modified.
func MergeEngine(base, over *Engine) *Engine {
	switch {
	case base == nil:
		return over
	case over == nil:
		return base
	}
	out := *base
	overlay(reflect.ValueOf(&out).Elem(), reflect.ValueOf(over).Elem())
	if base.Sim != nil && over.Sim != nil {
		sim := *base.Sim
		overlay(reflect.ValueOf(&sim).Elem(), reflect.ValueOf(over.Sim).Elem())
		out.Sim = &sim
	}
	return &out
}

// overlay sets the fields of to that are not zero in from.
func overlay(to, from reflect.Value) {
	for i := range from.NumField() {
		if f := from.Field(i); !f.IsZero() {
			to.Field(i).Set(f)
		}
	}
}

package tool

import (
	"slices"

	"bflow.dev/bflow/runplan"
)

// KeepData keeps the data of the first stage for all of them, and prefixes that depend on the load value by stage.
// What else differs between stages only the real tool can do: it runs one process per stage.
func (d *Draft) KeepData(at Value, s *runplan.Stage, data runplan.Data) {
	s.Prefixes = data.Prefixes
	data.Seed = d.Data.Seed
	if len(d.Stages) == 0 {
		d.Data = data
		return
	}
	if have := d.Data; !sameButPrefixes(have, data) {
		at.NeedsTool("data that differs between stages in more than its prefixes")
	}
}

func sameButPrefixes(a, b runplan.Data) bool {
	return same(a.File, b.File) && same(a.Images, b.Images) && same(a.Trace, b.Trace) &&
		same(a.Input, b.Input) && same(a.Output, b.Output) &&
		same(a.FirstInput, b.FirstInput) && same(a.FirstOutput, b.FirstOutput) &&
		a.Turns == b.Turns && a.Think == b.Think && a.Conversations == b.Conversations && a.Reuse == b.Reuse
}

func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// SettleData moves prefixes that all stages share from the stages to the data.
func (d *Draft) SettleData() {
	m := &d.Measurement
	m.Data.Prefixes = nil
	if len(m.Stages) == 0 {
		return
	}
	first := m.Stages[0].Prefixes
	for _, s := range m.Stages {
		if !slices.Equal(s.Prefixes, first) {
			return
		}
	}
	m.Data.Prefixes = first
	for i := range m.Stages {
		m.Stages[i].Prefixes = nil
	}
}

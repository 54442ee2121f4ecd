package load

import (
	"cmp"
	"math"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/runplan"
)

func fixed(n int) *runplan.Length { return &runplan.Length{Shape: "fixed", Mean: float64(n)} }

// spread is the description of a length; at is where its problems are reported.
type spread struct {
	at, mean, stdev, low, high value
}

// length settles the shape: a deviation makes it normal, clamped to five of it where no bound is given; bounds
// alone make it uniform, the mean standing in for one that is missing; a mean alone is fixed.
func (s spread) length() *runplan.Length {
	l := &runplan.Length{Mean: s.mean.positive(), Stdev: s.stdev.numberAtLeast(0), Min: s.low.integer(0), Max: s.high.integer(1)}
	if !s.mean.set() {
		l.Mean = math.Round(float64(l.Min+l.Max) / 2)
	}
	mean := int(math.Round(l.Mean))
	switch {
	case l.Stdev > 0:
		l.Shape = "normal"
		l.Min = cmp.Or(l.Min, max(1, int(math.Ceil(l.Mean-5*l.Stdev))))
		l.Max = cmp.Or(l.Max, max(1, int(math.Floor(l.Mean+5*l.Stdev))))
	case l.Min > 0 || l.Max > 0:
		l.Shape = "uniform"
		l.Min, l.Max = cmp.Or(l.Min, mean), cmp.Or(l.Max, mean)
	default:
		l.Shape = "fixed"
	}
	if l.Min > 0 && l.Max > 0 && l.Min > l.Max {
		s.at.errorf("the lower bound %d is above the upper bound %d", l.Min, l.Max)
	}
	return l
}

// length reads N or {mean, stdev, min, max, shape}; nil when v is not set.
func (v value) length() *runplan.Length {
	if !v.set() {
		return nil
	}
	if !v.is(yaml.MappingNode) {
		return fixed(v.integer(1))
	}
	f := v.fields()
	s := spread{at: v, mean: f.get("mean"), stdev: f.get("stdev"), low: f.get("min"), high: f.get("max")}
	shape := f.get("shape")
	f.close()
	if !s.mean.set() && (!s.low.set() || !s.high.set()) {
		v.errorf("needs mean, or min and max")
		return nil
	}
	l := s.length()
	if shape.set() {
		s.force(l, shape)
	}
	return l
}

// force sets a shape that was asked for by name and reports what it lacks or cannot use.
func (s spread) force(l *runplan.Length, shape value) {
	word := shape.word("normal", "uniform", "lognormal", "fixed")
	needsStdev := word == "normal" || word == "lognormal"
	switch {
	case needsStdev && l.Stdev == 0:
		shape.errorf("shape %q needs stdev", word)
	case !needsStdev && s.stdev.set():
		s.stdev.errorf("shape %q takes no stdev", word)
	case word == "uniform" && !s.low.set() && !s.high.set():
		shape.errorf("shape \"uniform\" needs min and max")
	case word == "fixed" && (s.low.set() || s.high.set()):
		shape.errorf("shape \"fixed\" takes no min and max")
	case word == "fixed":
		l.Stdev, l.Min, l.Max = 0, 0, 0
	}
	l.Shape = word
}

// prefixedLength reads name, name_stdev, name_min and name_max; nil when name is not set.
func prefixedLength(f *fields, name string) *runplan.Length {
	s := spread{at: f.get(name), mean: f.get(name), stdev: f.get(name + "_stdev"), low: f.get(name + "_min"), high: f.get(name + "_max")}
	if s.mean.set() {
		return s.length()
	}
	for _, v := range []value{s.stdev, s.low, s.high} {
		if v.set() {
			v.errorf("needs %q", name)
		}
	}
	return nil
}

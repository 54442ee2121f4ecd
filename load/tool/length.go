package tool

import (
	"cmp"
	"math"

	"bflow.dev/bflow/runplan"
)

// FixedLength is a length of exactly n tokens.
func FixedLength(n int) *runplan.Length { return &runplan.Length{Shape: "fixed", Mean: float64(n)} }

// Crossed says that no length lies between two bounds.
const Crossed = "the lower bound %d is above the upper bound %d"

// Duplicate says that a key stands for the same as one before it.
const Duplicate = "duplicates %q: remove one"

// Spread is the description of a length. What does not fit together is reported at its mean.
type Spread struct {
	Mean, Stdev, Low, High Value
}

// Length is the length that s describes.
func (s Spread) Length() *runplan.Length {
	l := runplan.Length{
		Mean: s.Mean.Positive(), Stdev: s.Stdev.NumberAtLeast(0), Min: s.Low.Integer(0), Max: s.High.Integer(1),
	}
	if !s.Mean.IsSet() {
		l.Mean = math.Round(float64(l.Min+l.Max) / 2)
	}
	l = SettleShape(l)
	if l.Min > 0 && l.Max > 0 && l.Min > l.Max {
		s.Mean.Errorf(Crossed, l.Min, l.Max)
	}
	return &l
}

// SettleShape settles the shape: a deviation makes it normal, clamped to five of it where no bound is given; bounds
// alone make it uniform, the mean standing in for one that is missing; a mean alone is fixed.
func SettleShape(l runplan.Length) runplan.Length {
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
	return l
}

// ReadLength reads name, name_stdev, name_min and name_max; nil when name is not set.
func ReadLength(f *Fields, name string) *runplan.Length {
	s := Spread{
		Mean: f.Get(name), Stdev: f.Get(name + "_stdev"),
		Low: f.Get(name + "_min"), High: f.Get(name + "_max"),
	}
	if s.Mean.IsSet() {
		return s.Length()
	}
	for _, v := range []Value{s.Stdev, s.Low, s.High} {
		if v.IsSet() {
			v.Errorf("needs %q", name)
		}
	}
	return nil
}

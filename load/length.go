package load

import (
	"cmp"
	"math"

	"bflow.dev/bflow/runplan"
)

func fixed(n int) *runplan.Length { return &runplan.Length{Shape: "fixed", Mean: float64(n)} }

// crossed says that no length lies between two bounds.
const crossed = "the lower bound %d is above the upper bound %d"

// spread is the description of a length; at is where its problems are reported.
type spread struct {
	at, mean, stdev, low, high value
}

func (s spread) length() *runplan.Length {
	l := runplan.Length{
		Mean: s.mean.positive(), Stdev: s.stdev.numberAtLeast(0), Min: s.low.integer(0), Max: s.high.integer(1),
	}
	if !s.mean.set() {
		l.Mean = math.Round(float64(l.Min+l.Max) / 2)
	}
	l = settleShape(l)
	if l.Min > 0 && l.Max > 0 && l.Min > l.Max {
		s.at.errorf(crossed, l.Min, l.Max)
	}
	return &l
}

// settleShape settles the shape: a deviation makes it normal, clamped to five of it where no bound is given; bounds
// alone make it uniform, the mean standing in for one that is missing; a mean alone is fixed.
func settleShape(l runplan.Length) runplan.Length {
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

// drawn is the length as a plan has it, whatever its shape is named.
func (l *Length) drawn() runplan.Length {
	out := runplan.Length{Mean: l.Mean, Stdev: l.Stdev}
	if l.Min != nil {
		out.Min = *l.Min
	}
	if l.Max != nil {
		out.Max = *l.Max
	}
	return settleShape(out)
}

// plan is the length of a plan; nil where there is none.
func (l *Length) plan() *runplan.Length {
	if l == nil {
		return nil
	}
	out := l.drawn()
	switch l.Shape {
	case "":
	case "fixed":
		out = runplan.Length{Shape: l.Shape, Mean: l.Mean}
	default:
		out.Shape = l.Shape
	}
	return &out
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

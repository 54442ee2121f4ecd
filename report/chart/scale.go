package chart

import (
	"math"
	"strconv"
	"strings"
)

// scale maps values to places. Linear axes begin at zero unless they are tight; see every value first, then settle.
type scale struct {
	from, to float64 // places
	min, max float64
	positive bool // every value is above zero
	log      bool
	axis     Axis
	step     float64 // between ticks of a linear axis
}

type tick struct {
	value float64
	label string
}

func newScale(from, to float64, a Axis) scale {
	return scale{from: from, to: to, min: math.Inf(1), max: math.Inf(-1), positive: true, axis: a}
}

func (s *scale) include(v float64) {
	s.min, s.max, s.positive = math.Min(s.min, v), math.Max(s.max, v), s.positive && v > 0
}

// settle chooses the range: whole decades or a round maximum; exact keeps the highest value as the end.
func (s *scale) settle(exact bool) {
	if math.IsInf(s.min, 0) || math.IsInf(s.max, 0) {
		s.min, s.max, s.positive = 0, 1, false
	}
	if s.log = s.positive && (s.axis.Log || s.axis.Auto && s.max/s.min > logarithmicFrom); s.log {
		s.min, s.max = logFloor(s.min), logCeil(s.max)
		return
	}
	if len(s.axis.Names) > 0 {
		s.min, s.max = -0.5, float64(len(s.axis.Names))-0.5
		return
	}
	if s.axis.Tight && s.max > s.min {
		s.step = roundStep((s.max - s.min) / 5)
		s.min, s.max = math.Floor(s.min/s.step)*s.step, math.Ceil(s.max/s.step)*s.step
		return
	}
	s.min = math.Min(0, s.min)
	switch {
	case s.axis.Max > 0:
		s.max = s.axis.Max
	case s.max <= s.min:
		s.max = s.min + 1
	}
	s.step = roundStep((s.max - s.min) / 5)
	if s.axis.Max == 0 && !exact {
		s.max = math.Ceil(s.max/s.step) * s.step
	}
}

// logFloor and logCeil widen to the next of 1, 2, 5 times a power of ten.
func logFloor(v float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2} {
		if v >= m*base {
			return m * base
		}
	}
	return base
}

func logCeil(v float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*base*(1+1e-9) {
			return m * base
		}
	}
	return 10 * base
}

func (s scale) at(v float64) float64 {
	share := (v - s.min) / (s.max - s.min)
	if s.log {
		share = math.Log(v/s.min) / math.Log(s.max/s.min)
		if s.max == s.min {
			share = 0.5
		}
	}
	return s.from + math.Max(0, math.Min(1, share))*(s.to-s.from)
}

func (s scale) ticks() []tick {
	switch {
	case len(s.axis.Names) > 0:
		return nameTicks(s.axis.Names)
	case s.log:
		return s.logTicks()
	}
	var out []tick
	for i := math.Ceil(s.min / s.step); i*s.step <= s.max*(1+1e-9); i++ {
		out = append(out, tick{i * s.step, Number(i * s.step)})
	}
	return out
}

func nameTicks(names []string) []tick {
	var out []tick
	room := plotWidth / max(1, len(names)) / charWidth
	for i, name := range names {
		out = append(out, tick{float64(i), clip(name, max(4, room))})
	}
	return out
}

// logTicks are the powers of ten, with 2 and 5 between them where few fit.
func (s scale) logTicks() []tick {
	multiples := []float64{1, 2, 5}
	if s.max/s.min > 2e3 {
		multiples = multiples[:1]
	}
	var out []tick
	for e := math.Floor(math.Log10(s.min)); e <= math.Ceil(math.Log10(s.max)); e++ {
		for _, m := range multiples {
			if v := m * math.Pow(10, e); v >= s.min*(1-1e-9) && v <= s.max*(1+1e-9) {
				out = append(out, tick{v, Number(v)})
			}
		}
	}
	return out
}

// roundStep is 1, 2 or 5 times a power of ten that is at least v.
func roundStep(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	return logCeil(v)
}

// Number prints a value for people: about three digits, k and M for thousands and millions.
func Number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1e6:
		return trim(v/1e6) + "M"
	case a >= 1e4:
		return trim(v/1e3) + "k"
	}
	return trim(v)
}

func trim(v float64) string {
	decimals := 0
	if a := math.Abs(v); a > 0 && a < 100 {
		decimals = min(6, max(0, 2-int(math.Floor(math.Log10(a)))))
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if strings.Trim(text, "-0") == "" {
		return "0" // not "-0"
	}
	return text
}

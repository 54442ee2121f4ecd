package verdict

import (
	"math"

	"bflow.dev/bflow/runplan"
)

// saturation sees that a server falls behind: requests in flight and time to first token both rise, and the latter is
// long already.
type saturation struct {
	on, monitor          bool
	minSeconds           float64
	minTTFT              float64 // seconds
	moeRatio, confidence float64
	minSize              int
	inFlight, ttft       trend
}

func newSaturation(r runplan.StopRule) saturation {
	longest := number(r, "max_window_seconds", 120)
	share := number(r, "maximum_window_ratio", 0.75)
	return saturation{
		on: true, monitor: r.Mode == "monitor",
		minSeconds: number(r, "min_seconds", 30), minTTFT: number(r, "minimum_ttft", 2.5),
		moeRatio: number(r, "moe_threshold", 2), confidence: number(r, "confidence", 0.95),
		minSize:  int(number(r, "minimum_window_size", 5)),
		inFlight: trend{longest: longest, share: share}, ttft: trend{longest: longest, share: share},
	}
}

func (s *saturation) isSaturated(at float64) bool {
	if at < s.minSeconds || s.inFlight.len() < s.minSize || s.ttft.len() < s.minSize {
		return false
	}
	return s.ttft.mean() > s.minTTFT &&
		Rising(s.inFlight.xs, s.inFlight.ys, s.confidence, s.moeRatio) &&
		Rising(s.ttft.xs, s.ttft.ys, s.confidence, s.moeRatio)
}

// maxPoints bounds a trend: at more than a thousand points its slope is known well enough, so every other one goes.
const maxPoints = 4096

// trend holds the latest points of a series: no older than longest seconds, and no more than share of all time so far.
type trend struct {
	longest, share float64
	xs, ys         []float64
}

func (t *trend) add(x, y float64) {
	t.xs, t.ys = append(t.xs, x), append(t.ys, y)
	oldest := x - t.longest
	if t.share > 0 && t.share < 1 {
		oldest = max(oldest, x*(1-t.share))
	}
	drop := 0
	for drop < len(t.xs)-1 && t.xs[drop] < oldest {
		drop++
	}
	t.xs, t.ys = t.xs[drop:], t.ys[drop:]
	if len(t.xs) > maxPoints {
		t.thin()
	}
}

func (t *trend) thin() {
	n := 0
	for i := 0; i < len(t.xs); i += 2 {
		t.xs[n], t.ys[n] = t.xs[i], t.ys[i]
		n++
	}
	t.xs, t.ys = t.xs[:n], t.ys[:n]
}

func (t *trend) len() int { return len(t.xs) }

func (t *trend) mean() float64 {
	sum := 0.0
	for _, y := range t.ys {
		sum += y
	}
	return sum / float64(len(t.ys))
}

// Rising says whether ys rise with xs: the slope of the least-squares line is positive and the margin of error of the
// slope, at the given confidence (0.95 = 95 %), is less than ratio times the slope. Fewer than three points never rise.
func Rising(xs, ys []float64, confidence, ratio float64) bool {
	slope, margin, ok := slopeOf(xs, ys, confidence)
	return ok && slope > 0 && margin < ratio*slope
}

func slopeOf(xs, ys []float64, confidence float64) (slope, margin float64, ok bool) {
	n := float64(len(xs))
	if n < 3 {
		return 0, 0, false
	}
	mx, my := 0.0, 0.0
	for i := range xs {
		mx += xs[i] / n
		my += ys[i] / n
	}
	sxx, sxy, syy := 0.0, 0.0, 0.0
	for i := range xs {
		dx, dy := xs[i]-mx, ys[i]-my
		sxx, sxy, syy = sxx+dx*dx, sxy+dx*dy, syy+dy*dy
	}
	if sxx == 0 {
		return 0, 0, false
	}
	slope = sxy / sxx
	left := max(0, syy-slope*sxy)
	return slope, studentT(confidence, n-2) * math.Sqrt(left/(n-2)/sxx), true
}

// studentT returns the two-sided critical value of Student's distribution with df degrees of freedom, by the expansion
// of Cornish and Fisher around the normal one: within 1 % from 3 degrees of freedom on at 95 %.
func studentT(confidence, df float64) float64 {
	z := math.Sqrt2 * math.Erfinv(confidence)
	z3 := z * z * z
	z5 := z3 * z * z
	z7 := z5 * z * z
	return z + (z3+z)/(4*df) + (5*z5+16*z3+3*z)/(96*df*df) + (3*z7+19*z5+17*z3-15*z)/(384*df*df*df)
}

package search

import (
	"fmt"
	"slices"

	"bflow.dev/bflow/runplan"
)

// keptUp is the share of the offered rate that a stage has to reach.
const keptUp = 0.95

// Point is a stage of a sweep that has run.
type Point struct {
	Offered  float64 // requests per second; 0 = a closed loop, which offers none
	Achieved float64 // requests per second that ended well
}

// Knee returns the indices of the last stage, in the order of the offered rates, that kept up, its achieved rate being
// within 5 % of the offered one, and of the next above it. Where the highest kept up too they are it and the one below:
// a sweep ends at about what the server takes, so that its last stage may just hold. Closed loops are passed over. It
// is false where no stage kept up, or there is only one.
func Knee(stages []Point) (last, next int, ok bool) {
	var order []int
	for i, p := range stages {
		if p.Offered > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case stages[a].Offered < stages[b].Offered:
			return -1
		case stages[a].Offered > stages[b].Offered:
			return 1
		}
		return 0
	})
	for i := len(order) - 1; i >= 0; i-- {
		if p := stages[order[i]]; p.Achieved >= keptUp*p.Offered {
			if i = min(i, len(order)-2); i < 0 {
				return 0, 0, false
			}
			return order[i], order[i+1], true
		}
	}
	return 0, 0, false
}

// Rate returns the rate of a stage that lies between others, of which stages are all that have run, by index. Around
// the knee it lies between the offered rates of the two stages that Knee names, else between the achieved rates of its
// ends. It is an error, which says why, where those rates do not exist: the stage cannot run.
func Rate(b runplan.Between, stages []Point) (float64, error) {
	if b.Low < 0 || b.High < 0 || max(b.Low, b.High) >= len(stages) || b.Knee && b.High < b.Low {
		return 0, fmt.Errorf("finding a rate between stages %d and %d: only %d have run", b.Low, b.High, len(stages))
	}
	low, high := stages[b.Low].Achieved, stages[b.High].Achieved
	if b.Knee {
		last, next, ok := Knee(stages[b.Low : b.High+1])
		if !ok {
			return 0, fmt.Errorf("finding the knee between stages %d and %d: none of them kept up with the offered "+
				"rate, or there is only one", b.Low, b.High)
		}
		low, high = stages[b.Low+last].Offered, stages[b.Low+next].Offered
	}
	rate := low + b.Fraction*(high-low)
	if !(rate > 0) {
		return 0, fmt.Errorf("finding a rate between stages %d and %d: they reached %v and %v requests/s",
			b.Low, b.High, low, high)
	}
	return rate, nil
}

package main

import (
	"math"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/verdict"
)

// number is one number of a stage, as load-gen and as the packets have it, in ms.
type number struct {
	Name     string  `json:"name"`
	Reported float64 `json:"reported"`
	Real     float64 `json:"real"`
}

// result is what became of a scene.
type result struct {
	Scene    scene    `json:"scene"`
	Void     string   `json:"void,omitempty"` // why it says nothing
	Requests int      `json:"requests"`
	Numbers  []number `json:"numbers,omitempty"`
	Off      float64  `json:"off"` // share by which the load was another than was asked
	Flagged  bool     `json:"flagged"`
	Why      string   `json:"why,omitempty"` // of load-gen
}

// compare fills in what can be compared.
func (r *result) compare(stage *report.StageResult, real real) {
	r.Requests, r.Off = len(real.ttft), real.off
	for _, n := range verdict.Counted(nil, stage) {
		xs := map[string][]float64{"ttft": real.ttft, "itl": real.itl, "e2e": real.e2e}[n.Metric]
		if len(xs) > 0 {
			r.Numbers = append(r.Numbers, number{
				n.String(), stage.Metrics[n.Metric].Quantiles[n.Quantile], report.Percentile(xs, percentOf(n.Quantile)),
			})
		}
	}
	for _, c := range stage.Checks {
		if !c.OK && !c.Note && !r.Flagged {
			r.Flagged, r.Why = true, c.Name+": "+c.Text
		}
	}
}

func percentOf(name string) float64 {
	for _, q := range report.Quantiles {
		if q.Name == name {
			return q.P
		}
	}
	return 50
}

// Bounds of what must be flagged, and of what must not be: shares, and ms.
const (
	wrongShare, wrongMS = 0.02, 0.1
	rightShare, rightMS = 0.003, 0.02
)

// wrong says whether a number, or the load, is truly off.
func (r *result) wrong() bool {
	for _, n := range r.Numbers {
		if d := math.Abs(n.Reported - n.Real); d > wrongShare*n.Real && d > wrongMS {
			return true
		}
	}
	return r.Off > wrongShare
}

// right says whether all of it is as good as true.
func (r *result) right() bool {
	for _, n := range r.Numbers {
		if d := math.Abs(n.Reported - n.Real); d >= rightShare*n.Real && d >= rightMS {
			return false
		}
	}
	return r.Off < rightShare
}

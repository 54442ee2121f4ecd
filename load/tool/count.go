package tool

import (
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/runplan"
)

// Count is a number, or a multiple of the stage's load value: "20*concurrency". N = 0 means not set.
type Count struct {
	N       int
	PerLoad bool
}

// Check finds a multiple of load values that a stage has not, or that comes to nothing.
func (c Count) Check(loads []float64) (out problem.Findings) {
	if !c.PerLoad {
		return nil
	}
	if len(loads) == 0 {
		out.Add("", "%d*concurrency needs a load value, and there is none", c.N)
	}
	for _, x := range loads {
		if n := int64(c.N) * int64(x); n < 1 || n > runplan.MostRequests {
			out.Add("", "want 1 to %d, found %d*concurrency, which is %d at a load of %s",
				runplan.MostRequests, c.N, n, scalar.Plain(x))
			break
		}
	}
	return out
}

// Of is the number at a load value, a rate being cut to an integer first.
func (c Count) Of(load float64) int {
	if c.PerLoad {
		return c.N * int(load)
	}
	return c.N
}

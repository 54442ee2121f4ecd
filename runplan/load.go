package runplan

import (
	"fmt"
	"strings"
)

// Load names the load that is measured in a few words: "10/s 20/s" of rates, "c8" of a concurrency, "search 1..64".
func (p *RunPlan) Load() string {
	var parts []string
	for _, m := range p.Measurements {
		for _, st := range m.Stages {
			switch {
			case !st.Measure:
			case st.Rate > 0:
				parts = append(parts, fmt.Sprintf("%g/s", st.Rate))
			case st.Concurrency > 0:
				parts = append(parts, fmt.Sprintf("c%d", st.Concurrency))
			default:
				parts = append(parts, st.Shape)
			}
		}
		if s := m.Search; s != nil {
			parts = append(parts, fmt.Sprintf("search %g..%g", s.Low, s.High))
		}
	}
	if len(parts) > 6 {
		parts = append(parts[:5], fmt.Sprintf("... %d stages", len(parts)))
	}
	return strings.Join(parts, " ")
}

package assemble

import (
	"testing"

	"bflow.dev/bflow/report"
)

func TestThePooledCacheHitRateIsOneOfSums(t *testing.T) {
	sample := func(cached, of int64, windowS float64) report.Stage {
		s := report.Stage{WindowS: windowS}
		s.Tokens = report.TokenSums{Cached: cached, CachedOf: of}
		s.Rates = map[string]float64{"cache_hit_rate": float64(cached) / float64(of), "request_rate": 3}
		return s
	}
	m := &measured{}
	p := m.pool([]report.Stage{sample(90, 100, 1), sample(0, 300, 3)})
	if got := p.Rates["cache_hit_rate"]; got != 0.225 || p.Rates["request_rate"] != 3 {
		t.Errorf("rates %v, want 90 of 400 input tokens", p.Rates)
	}
}

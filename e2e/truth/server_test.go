package truth

import (
	"fmt"
	"strings"
	"testing"

	"bflow.dev/bflow/sim"
)

// server compares what the engine's counters say about each stage with its own log of every request.
func server(t *testing.T, r finished) {
	truth := r.Truth()
	for _, sample := range r.report.Measurements[0].Samples {
		for _, s := range sample.Stages {
			if !s.Planned.Measure {
				continue
			}
			in, out, ttft, first := engineDid(truth, fmt.Sprintf("-m0-r%d-s%d-", s.Sample, s.Stage))
			where := fmt.Sprintf("sample %d, stage %q: ", s.Sample, s.Planned.Name)
			near(t, where+"prompt tokens", s.Server.Counters["prompt_tokens"], in, 0.01)
			near(t, where+"generated tokens", s.Server.Counters["generation_tokens"], out, 0.01)
			near(t, where+"requests with a first token", s.Server.Histograms["ttft"].N, first, 0.01)
			near(t, where+"mean ttft", s.Server.Histograms["ttft"].MeanMS, ttft/first, 0.01)
		}
	}
}

func engineDid(truth []sim.Record, stage string) (in, out, ttft, first float64) {
	for _, rec := range truth {
		if !strings.Contains(rec.RequestID, stage) || len(rec.Events) == 0 {
			continue
		}
		in += float64(rec.PromptTokens)
		out += float64(rec.OutputTokens)
		ttft += float64(rec.Events[0]) / 1e6
		first++
	}
	return in, out, ttft, first
}

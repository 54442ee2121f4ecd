package guidellm

import (
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// metrics2 fills every metric of the tool that a benchmark of texts has.
func (s *stage) metrics2(run tools.Run) metrics2 {
	in, out, both := s.tokens()
	inRate := s.rate("input_token_rate", nil, s.numbers["tokens_in"])
	outRate := s.rate("output_token_rate", func(t report.Second) float64 { return float64(t.TokensOut) }, tokensOut(0))
	allRate := s.rate("total_token_rate", nil, nil)
	done := func(t report.Second) float64 { return float64(t.Done) }
	m := metrics2{
		Totals:             s.totals(),
		RequestsPerS:       under2(s.rate("request_rate", done, nil)),
		Concurrency:        under2(s.concurrency()),
		Latency:            under2(s.of("e2e", 1e-3, nil)),
		Iterations:         under2(s.over(events, nil)),
		PromptTokens:       under2(in),
		OutputTokens:       under2(out),
		TotalTokens:        under2(both),
		TimeToFirstToken:   under2(s.of("ttft", 1, nil)),
		TimeToFirstOutput:  under2(s.of("ttfc", 1, nil)),
		TimePerOutputToken: under2(s.of("tpot_incl", 1, tokensOut(0))),
		InterTokenLatency:  under2(s.of("tpot", 1, tokensOut(1))),
		TimeToLastTrip:     under2(none()),
		AvgRoundTrip:       under2(none()),
		PromptTokensPerS:   under2(inRate),
		OutputTokensPerS:   under2(outRate),
		TokensPerS:         under2(allRate),
		OutputTokensPerIt:  under2(s.over(perEvent(0), tokensOut(0))),
		IterTokensPerIter:  under2(s.over(perEvent(1), tokensOut(1))),
	}
	m.Text.Tokens = modality2{Input: under2(in), Output: under2(out), Total: under2(both),
		InputPerS: under2(inRate), OutputPerS: under2(outRate), TotalPerS: under2(allRate)}
	s.addSchedule(&m)
	s.addGoodput(run, &m)
	return m
}

func (s *stage) tokens() (in, out, both map[string]summary) {
	total := func(r *report.Row) (float64, bool) {
		a, okA := s.numbers["tokens_in"](r)
		b, okB := s.numbers["tokens_out"](r)
		return a + b, okA || okB
	}
	in, out, both = s.of("tokens_in", 1, nil), s.of("tokens_out", 1, nil), s.over(total, nil)
	if a, ok := s.Metrics["tokens_in"]; ok && s.Requests.Len() == 0 {
		mean := a.Mean + s.Metrics["tokens_out"].Mean
		both["successful"], both["total"] = constant(mean, a.N), constant(mean, a.N)
	}
	return in, out, both
}

// addSchedule adds the delays from the schedule, which only a schedule of its own gives a meaning.
func (s *stage) addSchedule(m *metrics2) {
	if !s.open() {
		return
	}
	m.DispatchDelay = under2(s.over(sinceIntended, nil))
	m.ScheduledLatency = under2(s.of("e2e_intended", 1e-3, nil))
	m.PredecessorDelay = under2(s.over(func(r *report.Row) (float64, bool) { return 0, r.TSend != nil }, nil))
	m.SchedulingDelay = under2(s.over(sinceIntended, nil))
	m.RootDispatchDelay = &summary2{summary: summarize(values(s.scratch[:0], s.requests["total"], sinceIntended, nil))}
}

// addGoodput adds it where there are objectives that the tool has words for.
func (s *stage) addGoodput(run tools.Run, m *metrics2) {
	if s.Goodput == nil || objectives(run, s.measurement) == nil {
		return
	}
	m.Attainment, m.DeterminedRequests = &s.Goodput.Attainment, s.Goodput.Of
	good := constant(s.Goodput.RequestsPerS, int64(s.Goodput.Good))
	zero := constant(0, 0)
	m.Goodput = under2(map[string]summary{"successful": good, "errored": zero, "incomplete": zero, "total": good})
}

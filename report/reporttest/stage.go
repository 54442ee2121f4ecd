package reporttest

import (
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// result summarises the rows of a stage as load-gen does, and stores their distributions.
func (l *load) result(planned runplan.Stage, sample, stage int, start int64, rows []report.Row) *report.StageResult {
	anchor, length := Start().UnixNano(), int64(planned.Duration)
	end := start + length
	s := &report.StageResult{Sample: sample, Stage: stage, Planned: planned, StartNS: anchor + start, EndNS: anchor + end,
		DrainEndNS: anchor + end, Window: report.Window{StartNS: anchor + start, EndNS: anchor + end}, Ended: "duration",
		Counts: report.Counts{ByStatus: map[string]int{}, All: len(rows)}, Metrics: map[string]report.Metric{},
		Rates:  map[string]float64{},
		Series: make([]report.Second, length/1e9), Client: report.Client{CPUSeconds: 0.4, ConnsOpened: 8, MaxGCPauseMS: 0.1},
		Tokens: report.TokenSums{Sources: map[string]int{}}}
	values := map[string]*report.Distribution{}
	l.seconds = map[int64]*report.Distribution{}
	for i := range rows {
		if row := &rows[i]; row.TEnd != nil {
			s.DrainEndNS = max(s.DrainEndNS, anchor+*row.TEnd)
			if planned.Measure {
				l.account(s, values, row, start, end)
			}
		}
	}
	if !planned.Measure {
		return s
	}
	l.conclude(s, values, float64(length)/1e9)
	return s
}

func (l *load) account(
	s *report.StageResult, values map[string]*report.Distribution, row *report.Row, start, end int64,
) {
	s.Counts.Total++
	s.Counts.ByStatus[row.Status]++
	second := func(t int64) *report.Second {
		if i := (t - start) / 1e9; t >= start && i < int64(len(s.Series)) {
			return &s.Series[i]
		}
		return &report.Second{}
	}
	second(*row.TSend).Sent++
	if row.Status != report.StatusOK {
		if s.Counts.ByClass == nil {
			s.Counts.ByClass = map[string]int{}
		}
		s.Counts.ByClass[row.ErrorClass]++
		second(*row.TEnd).Errors++
		return
	}
	second(*row.TEnd).Done++
	if *row.TEnd < end {
		s.Rates["request_rate"]++
	}
	for i := range s.Series {
		from, to := start+int64(i)*1e9, start+int64(i+1)*1e9
		if both := min(to, *row.TEnd) - max(from, *row.TSend); both > 0 {
			s.Series[i].InFlight += float64(both) / 1e9
		}
	}
	s.Tokens.In += int64(*row.TokensIn)
	s.Tokens.Out += int64(*row.TokensOut)
	s.Tokens.OutAsked += int64(*row.TokensOutAsked)
	s.Tokens.ExactLength++
	s.Tokens.Sources["usage"]++
	l.addValues(s, values, row, start, end)
}

func (l *load) addValues(
	s *report.StageResult, values map[string]*report.Distribution, row *report.Row, start, end int64,
) {
	add := func(name string, ms float64) {
		if values[name] == nil {
			values[name] = report.NewDistribution(report.Unit(name))
		}
		values[name].Add(ms)
	}
	n := float64(*row.TokensOut)
	if at := (*row.TFirst - start) / 1e9; at < int64(len(s.Series)) {
		if l.seconds[at] == nil {
			l.seconds[at] = report.NewDistribution("ms")
		}
		l.seconds[at].Add(float64(*row.TFirst-*row.TSend) / 1e6)
	}
	add("ttft", float64(*row.TFirst-*row.TSend)/1e6)
	add("ttft_intended", float64(*row.TFirst-row.TIntended)/1e6)
	add("e2e", float64(*row.TEnd-*row.TSend)/1e6)
	add("e2e_intended", float64(*row.TEnd-row.TIntended)/1e6)
	add("tpot", float64(*row.TLast-*row.TFirst)/1e6/(n-1))
	add("ntpot", float64(*row.TEnd-*row.TSend)/1e6/n)
	add("sched_lag", float64(*row.TSend-row.TIntended)/1e6)
	add("tokens_in", float64(*row.TokensIn))
	add("tokens_out", n)
	mean := (*row.TLast - *row.TFirst) / int64(n-1)
	for i := range int64(n) {
		t := *row.TFirst + i*mean
		if i > 0 {
			add("itl", l.gapMS())
		}
		if at := (t - start) / 1e9; t < end && at >= 0 && at < int64(len(s.Series)) {
			s.Series[at].TokensOut++
			s.Rates["output_token_rate"]++
		}
	}
}

// conclude turns totals into rates and adds what is judged.
func (l *load) conclude(s *report.StageResult, values map[string]*report.Distribution, windowS float64) {
	for name := range s.Rates {
		s.Rates[name] /= windowS
	}
	for i, d := range l.seconds {
		s.Series[i].TTFTP50, _ = d.Percentile(50)
		s.Series[i].TTFTP99, _ = d.Percentile(99)
	}
	s.Rates["offered_rate"] = s.Planned.Rate
	s.Rates["achieved_rate"] = float64(s.Counts.Total) / windowS
	s.Rates["input_token_rate"] = float64(s.Tokens.In) / windowS
	s.Rates["total_token_rate"] = s.Rates["input_token_rate"] + s.Rates["output_token_rate"]
	for name, d := range values {
		if m, ok := d.Metric(); ok {
			s.Metrics[name] = m
		}
		check(l.t, l.values.Write(report.DistributionKey{Sample: s.Sample, Stage: s.Stage, Metric: name}, d))
	}
	bad, ok := s.Counts.ByStatus[report.StatusFailed], s.Counts.ByStatus[report.StatusOK]
	if n := bad + ok; n > 0 {
		rate := float64(bad) / float64(n)
		s.ErrorRate = &rate
	}
	if slo := l.plan.SLO; slo != nil && slo.Goodput != nil && values["ttft_intended"] != nil {
		within, _ := values["ttft_intended"].ShareAtMost(slo.Goodput.TTFT.Seconds() * 1000)
		good := int(within*float64(ok) + 0.5)
		s.Goodput = &report.GoodputResult{Good: good, Of: ok + bad, Attainment: float64(good) / float64(ok+bad),
			RequestsPerS: float64(good) / windowS, TokensPerS: float64(good*tokensOut) / windowS,
			Missed: map[string]int{"ttft": ok - good}}
	}
	s.Checks = append([]report.Check{
		{Name: "sched_lag_p99_ms", Value: s.Metrics["sched_lag"].Quantiles["p99"], Limit: 1, OK: true},
		{Name: "achieved_rate_error", Value: 0.001, Limit: 0.005, OK: true},
		{Name: "run_queue_share", Value: 0.004, Limit: 0.05, OK: true},
		{Name: "gc_pause_max_ms", Value: 0.1, Limit: 1, OK: true},
		{Name: "connections_per_request", Value: 0.001, Limit: 0.01, OK: true},
		{Name: "clock_drift_ms", Value: 0.02, Limit: 1, OK: true},
		{Name: "exact_length_share", Value: 1, Limit: 0.99, OK: true},
	}, l.run.Checks...)
	l.saturation(s, values)
}

// saturation notes a queue that grows over the whole stage.
func (l *load) saturation(s *report.StageResult, values map[string]*report.Distribution) {
	d := values["ttft"]
	if d == nil {
		return
	}
	p90, _ := d.Percentile(90)
	c := report.Check{Name: "in_flight_slope", Value: p90 / 100, Limit: 2, OK: p90 < 200, Note: true}
	if !c.OK {
		c.Reason, c.Text = "server_saturated", "requests in flight and TTFT rise over the whole window"
	}
	s.Checks = append(s.Checks, c)
}

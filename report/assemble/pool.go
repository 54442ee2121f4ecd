package assemble

import (
	"maps"
	"math"
	"slices"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/verdict"
)

// addSamples files the stages under their samples, with what the engine says about each.
func (m *measured) addSamples() {
	bySample := map[int][]report.Stage{}
	for _, raw := range m.stages {
		s := report.Stage{StageResult: raw, WindowS: seconds(raw.Window)}
		m.compareWithServer(&s)
		validate(&s)
		bySample[raw.Sample] = append(bySample[raw.Sample], s)
	}
	for _, sample := range slices.Sorted(maps.Keys(bySample)) {
		m.Samples = append(m.Samples, report.Sample{Sample: sample, Stages: bySample[sample]})
	}
}

func seconds(w report.Window) float64 { return float64(max(0, w.EndNS-w.StartNS)) / 1e9 }

// validate draws the conclusion from the checks of a stage.
func validate(s *report.Stage) {
	s.Valid, s.InvalidReasons = true, nil
	for _, c := range s.Checks {
		if !c.OK && !c.Note {
			s.Valid = false
			if !slices.Contains(s.InvalidReasons, c.Reason) {
				s.InvalidReasons = append(s.InvalidReasons, c.Reason)
			}
		}
	}
}

// addPooled merges each stage over the samples.
func (m *measured) addPooled() {
	byStage := map[int][]report.Stage{}
	for _, sample := range m.Samples {
		for _, s := range sample.Stages {
			byStage[s.Stage] = append(byStage[s.Stage], s)
		}
	}
	for _, stage := range slices.Sorted(maps.Keys(byStage)) {
		m.Pooled.Stages = append(m.Pooled.Stages, m.pool(byStage[stage]))
	}
}

func (m *measured) pool(samples []report.Stage) report.Stage {
	p := report.Stage{StageResult: samples[0].StageResult}
	p.Sample, p.Series, p.Client = 0, nil, report.Client{}
	p.Counts, p.Tokens = report.Counts{ByStatus: map[string]int{}}, report.TokenSums{}
	p.Goodput, p.Checks = nil, nil
	for i := range samples {
		s := &samples[i]
		if verdict.Skipped(&p) {
			p.Ended = s.Ended
		}
		p.Interrupted = p.Interrupted || s.Interrupted
		p.WindowS += s.WindowS
		addCounts(&p.Counts, s.Counts)
		addTokens(&p.Tokens, s.Tokens)
		addGoodput(&p, s)
		addChecks(&p, s.Checks)
		p.AddShifts(s.Shifts)
	}
	p.Rates = pooledRates(samples)
	if share, ok := p.Tokens.CacheHitRate(); ok {
		p.Rates["cache_hit_rate"] = share
	}
	p.ErrorRate = p.Counts.ErrorRate()
	finishGoodput(&p)
	validate(&p)
	p.Metrics, p.CDF = m.pooledMetrics(samples)
	p.Server = m.pooledServer(samples)
	return p
}

func addCounts(to *report.Counts, from report.Counts) {
	to.Total += from.Total
	to.All += from.All
	for k, n := range from.ByStatus {
		to.ByStatus[k] += n
	}
	for k, n := range from.ByClass {
		if to.ByClass == nil {
			to.ByClass = map[string]int{}
		}
		to.ByClass[k] += n
	}
}

func addTokens(to *report.TokenSums, from report.TokenSums) {
	to.In += from.In
	to.Out += from.Out
	to.OutAsked += from.OutAsked
	to.InAsked += from.InAsked
	to.InOfAsked += from.InOfAsked
	to.Cached += from.Cached
	to.CachedOf += from.CachedOf
	to.Hidden += from.Hidden
	to.ExactLength += from.ExactLength
	for k, n := range from.Sources {
		if to.Sources == nil {
			to.Sources = map[string]int{}
		}
		to.Sources[k] += n
	}
}

// addGoodput keeps totals in the two rates until finishGoodput divides them.
func addGoodput(p *report.Stage, s *report.Stage) {
	g := s.Goodput
	if g == nil {
		return
	}
	if p.Goodput == nil {
		p.Goodput = &report.GoodputResult{}
	}
	p.Goodput.Good += g.Good
	p.Goodput.Of += g.Of
	p.Goodput.RequestsPerS += g.RequestsPerS * s.WindowS
	p.Goodput.TokensPerS += g.TokensPerS * s.WindowS
	p.Goodput.Met = addInts(p.Goodput.Met, g.Met)
	p.Goodput.Missed = addInts(p.Goodput.Missed, g.Missed)
	p.Goodput.Undetermined = addInts(p.Goodput.Undetermined, g.Undetermined)
}

func addInts(to, from map[string]int) map[string]int {
	if to == nil && len(from) > 0 {
		to = map[string]int{}
	}
	for k, n := range from {
		to[k] += n
	}
	return to
}

func finishGoodput(p *report.Stage) {
	g := p.Goodput
	if g == nil {
		return
	}
	if g.Of > 0 {
		g.Attainment = float64(g.Good) / float64(g.Of)
	}
	if p.WindowS > 0 {
		g.RequestsPerS /= p.WindowS
		g.TokensPerS /= p.WindowS
	}
}

// addChecks keeps the worst of each check: a failed one before a good one, then the larger share of its limit.
func addChecks(p *report.Stage, checks []report.Check) {
	for _, c := range checks {
		i := slices.IndexFunc(p.Checks, func(have report.Check) bool { return have.Name == c.Name })
		switch {
		case i < 0:
			p.Checks = append(p.Checks, c)
		case worse(c, p.Checks[i]):
			p.Checks[i] = c
		}
	}
}

func worse(a, b report.Check) bool {
	if a.OK != b.OK {
		return !a.OK
	}
	return math.Abs(a.Value) > math.Abs(b.Value)
}

// pooledRates weights each rate by the length of its window, which is the same as dividing the sums. The *_run
// variants have other denominators, so they exist for a single sample only; the share of cached tokens is made from
// sums.
func pooledRates(samples []report.Stage) map[string]float64 {
	sums, lengths := map[string]float64{}, map[string]float64{}
	for _, s := range samples {
		for name, rate := range s.Rates {
			if name == "cache_hit_rate" || strings.HasSuffix(name, "_run") && len(samples) > 1 {
				continue
			}
			sums[name] += rate * s.WindowS
			lengths[name] += s.WindowS
		}
	}
	out := map[string]float64{}
	for name, sum := range sums {
		if lengths[name] > 0 {
			out[name] = sum / lengths[name]
		}
	}
	return out
}

// outputPerSecond are the output tokens of each whole second of the windows of a stage, all samples.
func (m *measured) outputPerSecond(stage int) []float64 {
	var out []float64
	for _, s := range m.stages {
		if s.Stage != stage {
			continue
		}
		for _, second := range s.WindowSeries() {
			out = append(out, float64(second.TokensOut))
		}
	}
	return out
}

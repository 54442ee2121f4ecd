package report

// LoadOf returns the load value of a stage: the number of streams of a closed loop, the rate of an open one in
// requests per second, 0 where the stage has none (throughput, trace).
func LoadOf(s *Stage) float64 {
	switch {
	case s.Rate > 0:
		return s.Rate
	case s.Planned.Rate > 0:
		return s.Planned.Rate
	}
	return float64(s.Planned.Concurrency)
}

// Headline returns the pooled stage that stands for the whole run: the one with the highest load among the measured
// stages that are valid and pass all their gates; where none does, the last measured stage that has a successful
// request, else the last measured stage. nil without a measured stage. Of equal loads the later stage wins.
func Headline(r *Report) *Stage {
	var best, last, lastOK *Stage
	for i := range r.Measurements {
		stages := r.Measurements[i].Pooled.Stages
		for j := range stages {
			s := &stages[j]
			if !s.Planned.Measure {
				continue
			}
			last = s
			if s.Counts.ByStatus[StatusOK] == 0 {
				continue
			}
			lastOK = s
			if (s.Verdict == "pass" || s.Verdict == NotJudged) && (best == nil || LoadOf(s) >= LoadOf(best)) {
				best = s
			}
		}
	}
	switch {
	case best != nil:
		return best
	case lastOK != nil:
		return lastOK
	}
	return last
}

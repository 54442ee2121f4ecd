package plan

import (
	"time"

	"bflow.dev/bflow/internal/saturate"
	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/search"
)

// What a search does that its plan does not say.
const (
	searchLevel   = 30 * time.Second // a level without bounds of its own
	searchStretch = 2                // a measurement that makes a level longer is up to so many times as long as the first
)

// spanned is how long something is expected to take, and how long it may.
type spanned struct{ expected, longest time.Duration }

func (s spanned) plus(o spanned) spanned {
	return spanned{saturate.Plus(s.expected, o.expected), saturate.Plus(s.longest, o.longest)}
}

// measurementTime is how long a measurement is expected to take, and how long it may: every stage may wait for its
// last requests, within limit. A stage that nothing bounds in time may take all of limit.
func measurementTime(m *runplan.Measurement, limit time.Duration) (expected, longest time.Duration) {
	var sample spanned
	for i := range m.Stages {
		d, bounded := stageSpan(&m.Stages[i], m)
		if !bounded {
			return limit, limit
		}
		sample = sample.plus(d)
	}
	if m.Search != nil {
		d, bounded := searchSpan(m)
		if !bounded {
			return limit, limit
		}
		sample = sample.plus(d)
	} else if len(m.Stages) == 0 {
		return limit, limit
	}
	pauses := saturate.Times(m.SamplePause.D(), m.Samples-1)
	expected = saturate.Plus(saturate.Times(sample.expected, m.Samples), pauses)
	return expected, min(saturate.Plus(saturate.Times(sample.longest, m.Samples), pauses), limit)
}

func stageSpan(s *runplan.Stage, m *runplan.Measurement) (spanned, bool) {
	d, bounded := shape.Length(s, m.Data.Trace)
	expected := saturate.Plus(d, s.PauseAfter.D())
	return spanned{expected, saturate.Plus(expected, drainTime(s, &m.API))}, bounded
}

// drainTime is how long the last request of a stage may take: with every attempt to put it again.
func drainTime(s *runplan.Stage, api *runplan.API) time.Duration {
	if s.Drain != nil {
		return s.Drain.D()
	}
	request := api.Timeout.D()
	if r := api.Retry; r != nil {
		request = saturate.Times(request, r.Attempts+1)
		wait := r.Backoff.D()
		for range min(r.Attempts, 64) {
			request, wait = saturate.Plus(request, wait), saturate.Plus(wait, wait)
		}
	}
	return request
}

// searchSpan is the time of a search, which knows how many measurements it makes at most and usually ends after half of
// them. A level has up to three times its length, in two measurements.
func searchSpan(m *runplan.Measurement) (spanned, bool) {
	s := m.Search
	plan, err := search.New(*s)
	if err != nil {
		return spanned{}, false // load-gen will say what is wrong
	}
	level, bounded := levelTime(s)
	var stage runplan.Stage
	if s.Level != nil {
		stage = *s.Level
	}
	wait := saturate.Plus(stage.PauseAfter.D(), drainTime(&stage, &m.API))
	expected := saturate.Times(saturate.Plus(level, stage.PauseAfter.D()), plan.Most()/2)
	longest := saturate.Plus(saturate.Times(level, searchStretch), wait)
	return spanned{expected, saturate.Times(longest, plan.Most())}, bounded
}

func levelTime(s *runplan.Search) (time.Duration, bool) {
	if s.Level == nil {
		return searchLevel, true
	}
	level := *s.Level
	if s.Over != runplan.SearchConcurrency {
		level.Rate = s.Low // the slowest
	}
	return shape.Length(&level, nil)
}

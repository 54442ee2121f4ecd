package loadgen

import (
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
)

// progress tells how far the stage is until the returned function is called.
func (m *measurement) progress(d *driver, t *trySpec) (stop func()) {
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-done:
				m.report(d, t, true)
				return
			case <-tick.C:
				d.spill.Sync()
				m.report(d, t, n%5 == 0)
			}
		}
	}()
	return func() { close(done); <-gone }
}

// report writes progress.json, and a line for a person where aloud.
func (m *measurement) report(d *driver, t *trySpec, aloud bool) {
	p := report.Progress{Measurement: m.Measurement, Sample: t.sample, Samples: max(1, m.plan.Samples), Stage: t.index,
		Stages: len(m.plan.Stages), Try: t.try, After: t.after, Name: d.plan.Name, Measure: d.plan.Measure,
		ExpectedS: expected(d), Planned: planned(d)}
	if d.start > 0 { // it has begun
		c := d.live.sample()
		p.ElapsedS, p.Rate, p.TTFTMS = max(0, float64(d.now()-d.start)/1e9), d.live.rate(), c.ttft()
		p.Sent, p.Done = c.Sent, c.Done
		p.InFlight, p.Errors = c.InFlight, c.Errors
	}
	p.ETAS = m.remaining(p)
	m.last = p
	// A full disk ends the load by the spill; whatever else is wrong with this file is no reason to.
	if err := durable.ReplaceJSON(m.file(report.FileProgress), p); err != nil && aloud {
		m.say("%v", err)
	}
	if aloud {
		m.say("%s", p.Line())
	}
}

// finishProgress marks the last progress as that of a measurement that is over.
func (m *measurement) finishProgress() error {
	m.last.Finished, m.last.InFlight = true, 0
	m.last.Rate, m.last.ETAS = 0, 0
	return durable.WriteJSON(m.file(report.FileProgress), m.last)
}

// remaining returns the seconds until the end of the measurement, 0 where a stage has no known length.
func (m *measurement) remaining(p report.Progress) float64 {
	if p.ExpectedS == 0 {
		return 0
	}
	left := max(0, p.ExpectedS-p.ElapsedS)
	perSample := 0.0
	for i, s := range m.plan.Stages {
		length := s.Duration.Seconds()
		if length == 0 && s.Rate > 0 {
			length = float64(s.Requests) / s.Rate
		}
		if length == 0 {
			return 0
		}
		length += s.PauseAfter.Seconds()
		perSample += length
		if i > p.Stage {
			left += length
		}
	}
	return left + float64(p.Samples-1-p.Sample)*(perSample+m.plan.SamplePause.Seconds())
}

// planned returns the number of requests of the stage, 0 when only time bounds it.
func planned(d *driver) int {
	if d.plan.Requests == 0 && d.kind.Paced {
		return int(d.rate * d.plan.Duration.Seconds())
	}
	return d.plan.Requests
}

// expected returns how long the stage should last.
func expected(d *driver) float64 {
	if d.plan.Duration > 0 {
		return d.plan.Duration.Seconds()
	}
	if d.rate > 0 && d.plan.Requests > 0 {
		return float64(d.plan.Requests) / d.rate
	}
	return 0
}

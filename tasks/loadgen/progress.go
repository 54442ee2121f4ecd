package loadgen

import (
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
)

// progress writes how far a measurement is.
type progress struct {
	m    *measurement
	last report.Progress
}

// follow reports on a stage until the returned function is called.
func (p *progress) follow(d *driver, t *trySpec) (stop func()) {
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-done:
				p.report(d, t, true)
				return
			case <-tick.C:
				d.spill.Sync()
				p.report(d, t, n%5 == 0)
			}
		}
	}()
	return func() { close(done); <-gone }
}

// report writes progress.json, and a line for a person where aloud.
func (p *progress) report(d *driver, t *trySpec, aloud bool) {
	m := p.m
	now := report.Progress{Measurement: m.Measurement, Sample: t.sample, Samples: max(1, m.plan.Samples), Stage: t.index,
		Stages: len(m.plan.Stages), Try: t.try, After: t.after, Name: d.plan.Name, Measure: d.plan.Measure,
		ExpectedS: expected(d), Planned: planned(d)}
	if d.start > 0 { // it has begun
		c := d.live.sample()
		now.ElapsedS, now.Rate, now.TTFTMS = max(0, float64(d.now()-d.start)/1e9), d.live.rate(), c.ttft()
		now.Sent, now.Done = c.Sent, c.Done
		now.InFlight, now.Errors = c.InFlight, c.Errors
	}
	now.ETAS = p.remaining(now)
	p.last = now
	// A full disk ends the load by the spill; whatever else is wrong with this file is no reason to.
	if err := durable.ReplaceJSON(m.file(report.FileProgress), now); err != nil && aloud {
		m.say("%v", err)
	}
	if aloud {
		m.say("%s", now.Line())
	}
}

// finish marks the last progress as that of a measurement that is over.
func (p *progress) finish() error {
	p.last.Finished, p.last.InFlight = true, 0
	p.last.Rate, p.last.ETAS = 0, 0
	return durable.WriteJSON(p.m.file(report.FileProgress), p.last)
}

// remaining returns the seconds until the end of the measurement, 0 where a stage has no known length.
func (p *progress) remaining(now report.Progress) float64 {
	if now.ExpectedS == 0 {
		return 0
	}
	left := max(0, now.ExpectedS-now.ElapsedS)
	perSample := 0.0
	for i, s := range p.m.plan.Stages {
		length := s.Duration.Seconds()
		if length == 0 && s.Rate > 0 {
			length = float64(s.Requests) / s.Rate
		}
		if length == 0 {
			return 0
		}
		length += s.PauseAfter.Seconds()
		perSample += length
		if i > now.Stage {
			left += length
		}
	}
	return left + float64(now.Samples-1-now.Sample)*(perSample+p.m.plan.SamplePause.Seconds())
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

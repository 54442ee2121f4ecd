package loadgen

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/runplan"
	"bflow.dev/bflow/tasks/verdict"
)

// stage puts the load of one stage and writes what it did.
func (m *measurement) stage(ctx context.Context, sample, i int, plan runplan.Stage) (*report.StageResult, error) {
	rate := m.rate(plan)
	if plan.Shape == runplan.ShapeOpen && !(rate > 0) {
		return m.skipped(sample, i, plan, "the stages that should give its rate reached none")
	}
	spill, err := record.CreateSpill(m.file(spillName), m.idPrefix(sample, i))
	if err != nil {
		return nil, err
	}
	d, err := m.driver(sample, i, plan, rate, spill)
	if err != nil {
		return nil, err
	}
	m.warm(ctx, d)
	if plan.Measure {
		m.scrape(ctx, sample, i, "before")
	}
	m.event("stage_started", sample, i, plan, nil)
	before := readSelf(m)
	d.begun()
	stopProgress := m.progress(d, sample, i)
	d.run(ctx)
	stopProgress()
	used := readSelf(m).since(before)
	in := d.summary(sample, i, m)
	if plan.Measure {
		m.scrape(context.WithoutCancel(ctx), sample, i, "after")
	}
	r, err := m.finish(spill, in, d, used)
	if err != nil {
		return nil, err
	}
	m.rates[i] = r.Rates["request_rate"]
	m.event("stage_ended", sample, i, plan, r)
	return r, m.writeSummary()
}

// finish makes rows, distributions and the stage's line from its outcomes.
func (m *measurement) finish(spill *record.Spill, in *record.Stage, d *driver, used self) (*report.StageResult, error) {
	if err := spill.Err(); err != nil {
		return nil, err
	}
	sum, err := record.Summarize(spill, in, record.Outputs{Rows: m.rows, Values: m.hist, Gaps: m.plan.Record != nil && m.plan.Record.Gaps})
	if err != nil {
		return nil, err
	}
	m.clocks.kernel += sum.Kernel
	m.clocks.user += sum.User
	for s, n := range sum.SourceCounts {
		m.sources[s] += n
	}
	r := &sum.Result
	if n, d := spill.Stalls(); n > 0 {
		m.note("stage %d: the disk was slower than the load: sending waited for it %d times, %v in all", in.Index, n, d.Round(time.Millisecond))
	}
	r.Measurement, r.Ended, r.Interrupted = m.Measurement, d.state.by, d.state.by == endedInterrupted
	r.Client = used.client()
	r.Client.StaleRetries = sum.StaleRetries
	r.Checks = checks(in, r, used, m.plan.API.ExactOutput)
	if d.live.saturated() {
		m.note("stage %d: over-saturation was seen", in.Index)
	}
	m.say("%s", headline(in, r))
	return r, errors.Join(report.AppendStage(m.file(contract.FileStages), r), spill.Remove())
}

// driver prepares the load of a stage.
func (m *measurement) driver(sample, i int, plan runplan.Stage, rate float64, spill *record.Spill) (*driver, error) {
	d := &driver{plan: plan, rate: rate, api: m.plan.API, limits: limits{m.timeout(), m.plan.API.ReadTimeout.D()}, think: int64(m.plan.Data.Think),
		loop: m.loop, line: m.line, speaks: &m.api, source: m.prompts, content: m.prompts.Stage(m.Measurement, sample, i, plan),
		spill: spill, anchor: m.anchor, idPrefix: m.idPrefix(sample, i),
		seed: bits.RotateLeft64(uint64(m.plan.Data.Seed), 32) ^ uint64(sample)<<16 ^ uint64(i)}
	d.live = &live{rules: stopRules(plan.Stop), stop: func(rule string) { d.loop.Post(func() { d.stop(rule) }) }}
	var err error
	d.shape, err = d.newShape()
	return d, err
}

// idPrefix begins the ids of the requests of a stage.
func (m *measurement) idPrefix(sample, i int) string {
	return fmt.Sprintf("%s-%d-m%d-r%d-s%d", m.RunID, m.Attempt, m.Measurement, sample, i)
}

func stopRules(rules []runplan.StopRule) *verdict.Stop {
	if len(rules) == 0 {
		return nil
	}
	return verdict.NewStop(rules)
}

// begun starts the clock of the stage.
func (d *driver) begun() {
	d.start = d.now() + int64(lead)
	d.lastSend = d.start
	d.live.since = d.anchor.Add(time.Duration(d.start))
}

// lead lies between the decision to start and the first send, so that everything is in place by then.
const lead = 5 * time.Millisecond

// summary describes the stage that has ended.
func (d *driver) summary(sample, i int, m *measurement) *record.Stage {
	drained := d.now()
	end, window := d.end(drained)
	s := &record.Stage{Plan: d.plan, Sample: sample, Index: i, Rate: d.rate, Start: d.start, End: end, WindowEnd: window,
		DrainEnd: max(drained, end), AnchorUnixNS: m.anchor.UnixNano()}
	for _, a := range m.plan.API.Adapters {
		s.Adapters = append(s.Adapters, a.Name)
	}
	if m.whole.SLO != nil && m.whole.SLO.Goodput != nil {
		s.Objectives = m.whole.SLO.Goodput
	}
	return s
}

// warm opens connections before the stage, as many as it is likely to need at once.
func (m *measurement) warm(ctx context.Context, d *driver) {
	n := d.slots()
	if d.plan.Shape == runplan.ShapeOpen {
		n = max(16, int(2*d.rate))
		if d.plan.MaxInflight > 0 {
			n = min(n, d.plan.MaxInflight)
		}
	}
	_ = m.warmUp(ctx, min(n, maxWarm)) // a server that cannot be reached shows in the rows
}

// maxWarm bounds the connections opened before a stage.
const maxWarm = 2048

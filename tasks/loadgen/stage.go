package loadgen

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/loadgen/client"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/verdict"
)

// try puts the load of one stage. Whoever is given its outcomes closes the spill.
func (m *measurement) try(ctx context.Context, t trySpec) (*tried, error) {
	spill, err := record.CreateSpill(m.file(spillName), m.idPrefix(t))
	if err != nil {
		return nil, err
	}
	d, err := m.driver(t, spill)
	if err != nil {
		spill.Close()
		return nil, err
	}
	m.files.Texts.Begin(record.Names{Prefix: d.idPrefix}, t.sample, t.index)
	defer collectEarly()()
	m.warm(ctx, d)
	if t.plan.Measure {
		m.scrape(ctx, t.sample, t.index, "before")
	}
	m.event("stage_started", t, nil)
	if m.shown.last.Stages == 0 { // else what became of the stage before is there until this one has numbers
		m.shown.report(d, &t, false)
	}
	m.startTogether(ctx)
	before := readSelf(m)
	d.startClock()
	stopProgress := m.shown.follow(d, &t)
	d.run(ctx)
	stopProgress()
	out := &tried{trySpec: t, driver: d, spill: spill, used: readSelf(m).since(before), in: d.summary(t, m)}
	if t.plan.Measure {
		m.scrape(context.WithoutCancel(ctx), t.sample, t.index, "after")
	}
	return out, nil
}

// startTogether waits for the moment at which all shards start; what comes later than that starts at once.
func (m *measurement) startTogether(ctx context.Context) {
	if wait := time.Until(time.Unix(0, m.StartAt)); m.StartAt > 0 && wait > lead {
		pause(ctx, wait-lead)
	}
	m.StartAt = 0
}

// finish makes rows, distributions and the stage's line from its outcomes.
func (m *measurement) finish(t *tried) (*report.StageResult, error) {
	sum, err := record.Summarize(t.spill, t.in, m.files.Outputs)
	if err != nil {
		return nil, err
	}
	m.clocks.kernel += sum.Kernel
	m.clocks.user += sum.User
	for s, n := range sum.SourceCounts {
		m.sources[s] += n
	}
	r := m.result(t, sum)
	m.noteStage(t, r)
	m.event("stage_ended", t.trySpec, r)
	m.say("%s", headline(t.in, r))
	return r, errors.Join(report.AppendStage(m.file(contract.FileStages), r), m.release(t), m.writeSummary())
}

// release deletes the outcomes of a stage, which a shard keeps for merge.
func (m *measurement) release(t *tried) error {
	if m.Shard.Of > 1 {
		return t.spill.Keep(m.dir, t.in)
	}
	return t.spill.Remove()
}

// result completes the numbers of a stage with what the client knows of itself.
func (m *measurement) result(t *tried, sum *record.Summary) *report.StageResult {
	r := &sum.Result
	r.Measurement, r.Ended, r.Interrupted = m.Measurement, t.driver.state.by, t.driver.state.by == endedInterrupted
	r.Client = t.used.client()
	r.Client.StaleRetries = sum.StaleRetries
	r.Checks = checks(t.in, r, t.used, m.plan, m.slo)
	return r
}

// noteStage keeps what a person should know of a stage.
func (m *measurement) noteStage(t *tried, r *report.StageResult) {
	if n, d := t.spill.Stalls(); n > 0 {
		m.note("stage %d: the disk was slower than the load: sending waited for it %d times, %v in all", t.index, n,
			d.Round(time.Millisecond))
	}
	if t.driver.live.saturated() {
		m.note("stage %d: over-saturation was seen", t.index)
	}
	if reason := invalid(r); reason != "" && t.plan.Measure && m.invalid == "" {
		m.invalid = fmt.Sprintf("sample %d stage %d %q: %s", t.sample, t.index, t.plan.Name, reason)
	}
}

// tryStages lies between the number of a stage and that of its second try, whose prompts must be others.
const tryStages = 1 << 16

// driver prepares the load of a stage.
func (m *measurement) driver(t trySpec, spill *record.Spill) (*driver, error) {
	d := &driver{plan: t.plan, kind: shape.Of(t.plan.Shape), rate: t.rate, api: m.plan.API,
		limits: limits{requestTimeout(m.plan.API), m.plan.API.ReadTimeout.D()}, think: int64(m.plan.Data.Think),
		loop: m.loop, line: m.line, speaks: &m.api, source: m.prompts,
		content: m.prompts.Stage(m.Measurement, t.sample, t.index+t.try*tryStages, t.plan),
		trace:   m.trace, texts: m.files.Texts, budget: client.NewBudget(), shard: m.Shard.Index, shards: m.Shard.Of,
		spill: spill, anchor: m.anchor, idPrefix: m.idPrefix(t),
		byReader: m.Clock == clockUser,
		seed: bits.RotateLeft64(uint64(m.plan.Data.Seed),
			32) ^ uint64(t.sample)<<16 ^ uint64(t.index) ^ uint64(t.try)<<48}
	d.live = &live{rules: stopRules(t.plan.Stop), stop: func(rule string) { d.loop.Post(func() { d.stop(rule) }) }}
	d.senders = d.senderCount()
	var err error
	d.shape, err = d.newShape()
	return d, err
}

// idPrefix begins the ids of the requests of a stage.
func (m *measurement) idPrefix(t trySpec) string {
	id := fmt.Sprintf("%s-%d-m%d-r%d-s%d", m.RunID, m.Attempt, m.Measurement, t.sample, t.index)
	if t.try > 0 {
		id += fmt.Sprintf("-t%d", t.try)
	}
	return id
}

func stopRules(rules []runplan.StopRule) *verdict.Stop {
	if len(rules) == 0 {
		return nil
	}
	return verdict.NewStop(rules)
}

// startClock starts the clock of the stage.
func (d *driver) startClock() {
	d.start = d.now() + int64(lead)
	d.lastSend = d.start
	d.live.since = d.anchor.Add(time.Duration(d.start))
}

// lead lies between the decision to start and the first send, so that everything is in place by then.
const lead = 5 * time.Millisecond

// summary describes the stage that has ended.
func (d *driver) summary(t trySpec, m *measurement) *record.Stage {
	drained := d.now()
	end, window := d.span(drained)
	s := &record.Stage{Plan: d.plan, Sample: t.sample, Index: t.index, Rate: d.rate, Start: d.start, End: end,
		WindowEnd: window,
		DrainEnd:  max(drained, end), AnchorUnixNS: m.anchor.UnixNano()}
	for _, a := range m.plan.API.Adapters {
		s.Adapters = append(s.Adapters, a.Name)
	}
	if m.slo != nil && m.slo.Goodput != nil {
		s.Objectives = m.slo.Goodput
	}
	return s
}

// warm opens connections before the stage, as many as it is likely to need at once.
func (m *measurement) warm(ctx context.Context, d *driver) {
	_ = m.warmUp(ctx, min(d.connections(), maxWarm)) // a server that cannot be reached shows in the rows
}

// connections is how many requests are likely to be in flight at once.
func (d *driver) connections() int {
	switch {
	case d.kind.Slots != nil:
		return d.kind.Slots(&d.plan)
	case !d.kind.Paced:
		return shape.InFlight(&d.plan)
	}
	n := max(16, int(2*d.rate))
	if d.plan.MaxInflight > 0 {
		n = min(n, d.plan.MaxInflight)
	}
	return n
}

// maxWarm bounds the connections opened before a stage.
const maxWarm = 2048

package loadgen

import (
	"context"
	"fmt"
	"time"

	"bflow.dev/bflow/internal/realtime"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/loadgen/search"
	"bflow.dev/bflow/tasks/step"
	"bflow.dev/bflow/verdict"
)

// load puts every stage of every sample, on one thread: one that has given up its place to another does not get it
// back. Its error is one of writing.
func (m *measurement) load(ctx context.Context) error {
	defer realtime.Pin()()
	for sample := range max(1, m.plan.Samples) {
		if sample > 0 && !pause(ctx, m.plan.SamplePause.D()) {
			return nil
		}
		if err := m.sample(ctx, sample); err != nil || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// sample puts the stages in order.
func (m *measurement) sample(ctx context.Context, sample int) error {
	skip := ""
	m.points = m.points[:0]
	for i, plan := range m.plan.Stages {
		var (
			result *report.StageResult
			err    error
		)
		if skip == "" {
			result, err = m.stage(ctx, sample, i, plan)
		} else {
			result, err = m.skipped(sample, i, plan, skip)
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		if skip == "" {
			skip = m.skipsRest(plan, result)
		}
		m.points = append(m.points, search.Point{Offered: result.Rate, Achieved: result.Rates["request_rate"]})
		last := i == len(m.plan.Stages)-1 && m.plan.Search == nil && sample == max(1, m.plan.Samples)-1
		if skip == "" && !last && !pause(ctx, plan.PauseAfter.D()) {
			return nil
		}
	}
	// Its levels are other ones each time, so they cannot be pooled over samples: search.repeats measures the answer
	// again.
	if m.plan.Search != nil && skip == "" && sample == 0 {
		return m.search(ctx, sample)
	}
	return nil
}

// pause waits outside every window; false when ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// skipsRest says why the later stages of the sample are skipped, "" where they are not.
func (m *measurement) skipsRest(plan runplan.Stage, r *report.StageResult) string {
	if verdict.SkipsRest(plan.Stop, r.Ended) {
		return fmt.Sprintf("stage %d ended by %s with scope all", r.Stage, r.Ended)
	}
	if m.slo != nil && m.slo.OnBreach == "stop" && plan.Measure && breached(m.slo, r, m.values(r)) {
		return fmt.Sprintf("stage %d breached an objective, and slo.on_breach is stop", r.Stage)
	}
	return ""
}

// skipped records a stage that was not run.
func (m *measurement) skipped(sample, i int, plan runplan.Stage, why string) (*report.StageResult, error) {
	m.note("sample %d: stage %d skipped: %s", sample, i, why)
	r := &report.StageResult{Measurement: m.Measurement, Sample: sample, Stage: i, Planned: plan, Ended: endedSkipped,
		Checks: []report.Check{}, Series: []report.Second{}}
	return r, report.AppendStage(m.file(contract.FileStages), r)
}

// note adds a sentence to loadgen.json, once.
func (m *measurement) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, have := range m.summary.Notes {
		if have == text {
			return
		}
	}
	m.summary.Notes = append(m.summary.Notes, text)
	m.say("%s", text)
}

// rate returns the rate in force: the plan's, or one that earlier stages found.
func (m *measurement) rate(plan runplan.Stage) (float64, error) {
	if plan.Between != nil {
		return search.Rate(*plan.Between, m.points)
	}
	return plan.Rate, nil
}

// event writes what happened to the run's events.
func (m *measurement) event(name string, t trySpec, r *report.StageResult) {
	e := step.Event{Source: contract.LoadGen, Event: name, Message: t.plan.Name, Fields: map[string]string{
		"measurement": fmt.Sprint(m.Measurement), "sample": fmt.Sprint(t.sample), "stage": fmt.Sprint(t.index)}}
	if r != nil {
		e.Fields["ended"], e.Fields["requests"] = r.Ended, fmt.Sprint(r.Counts.All)
	}
	if err := step.AppendEvent(m.RunDir, e); err != nil {
		m.note("%v", err)
	}
}

// headline is a stage in one line.
func headline(in *record.Stage, r *report.StageResult) string {
	errorRate := "no request ended"
	if r.ErrorRate != nil {
		errorRate = fmt.Sprintf("%.2f %% errors", 100**r.ErrorRate)
	}
	text := fmt.Sprintf("sample %d stage %d %q ended by %s: %d requests, %s, %.2f req/s, %.1f output tokens/s",
		in.Sample, in.Index, in.Plan.Name, r.Ended, r.Counts.Total, errorRate, r.Rates["request_rate"],
		r.Rates["output_token_rate"])
	if ttft, ok := r.Metrics["ttft"]; ok {
		text += fmt.Sprintf(", ttft p50 %.1f p99 %.1f ms", ttft.Quantiles["p50"], ttft.Quantiles["p99"])
	}
	return text
}

package brief

import (
	"cmp"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/verdict"
)

// quantiles are the places of the figures that are quantiles.
func (f *Figures) quantiles() map[string]**float64 {
	return map[string]**float64{"p50": &f.P50, "p90": &f.P90, "p95": &f.P95, "p99": &f.P99}
}

// Report is b as far as it goes in the form of a report, for pages and tables over many runs. What a brief leaves out
// is absent there.
func (b *Brief) Report() *report.Report {
	r := &report.Report{
		Schema: report.ReportSchema,
		Run:    report.RunInfo{ID: b.Run, Attempt: b.Attempt, Start: b.Start, End: b.End},
		Plan: &runplan.RunPlan{Experiment: b.Experiment, Name: b.Point, Index: b.Index, Repeat: b.Repeat,
			Axes: b.Axes, Hash: b.PlanHash,
			Deployment: runplan.Deployment{Model: runplan.Model{Name: b.Model}, Engine: runplan.Engine{Kind: b.Engine}}},
		Verdict: report.Verdict{Schema: report.VerdictSchema, Verdict: cmp.Or(b.Verdict, verdict.Word(b.ExitCode)),
			ExitCode: b.ExitCode, Reasons: b.Reasons},
	}
	if b.Error != "" {
		r.Verdict.Reasons = append(r.Verdict.Reasons, b.Error)
	}
	stages := b.Stages
	if len(stages) == 0 && b.Headline != nil {
		stages = []Stage{*b.Headline}
	}
	at := map[string]int{}
	for i := range stages {
		s := &stages[i]
		n, ok := at[s.Measurement]
		if !ok {
			n = len(r.Measurements)
			at[s.Measurement] = n
			r.Measurements = append(r.Measurements, report.Measurement{Index: n, Name: s.Measurement, Complete: true})
		}
		m := &r.Measurements[n]
		m.Pooled.Stages = append(m.Pooled.Stages, s.report(len(m.Pooled.Stages)))
	}
	return r
}

func (s *Stage) report(index int) report.Stage {
	out := report.Stage{Valid: s.Verdict != verdict.Invalid, Verdict: s.Verdict, WindowS: s.WindowS,
		StageResult: report.StageResult{
			Stage: index, Rate: s.Rate, Rates: s.Rates, ErrorRate: s.ErrorRate, Ended: "duration",
			Planned: runplan.Stage{Name: s.Name, Measure: true, Shape: s.Shape, Rate: s.Rate, Concurrency: s.Concurrency},
			Counts:  report.Counts{Total: s.Requests, ByStatus: map[string]int{report.StatusOK: s.OK}},
			Metrics: map[string]report.Metric{}}}
	for name, f := range s.Metrics {
		m := report.Metric{
			Unit: f.Unit, N: int64(s.OK), Mean: f.Mean, Quantiles: map[string]float64{}, Absent: []string{"min", "max"},
		}
		for quantile, value := range f.quantiles() {
			if *value != nil {
				m.Quantiles[quantile] = **value
			}
		}
		out.Metrics[name] = m
	}
	return out
}

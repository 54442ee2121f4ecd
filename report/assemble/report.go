package assemble

import (
	"path/filepath"
	"slices"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
	"bflow.dev/bflow/verdict"
)

// Report makes the report of a run directory from its files alone. What is missing or damaged is a finding in the
// report; only a directory without a plan is an error. What no file but an older report.json says (the machine, the
// flags of the task) is taken over from there.
func Report(runDir string) (*report.Report, error) {
	plan, err := runplan.Read(runDir)
	if err != nil {
		return nil, err
	}
	r := &report.Report{
		Schema: report.ReportSchema, Plan: plan, Measurements: make([]report.Measurement, len(plan.Measurements)),
	}
	imported := exists(filepath.Join(runDir, contract.DirSource)) // no other run has this folder
	var findings []verdict.Finding
	for i := range plan.Measurements {
		m := measure(runDir, plan, i)
		m.judge(imported)
		findings = append(findings, m.findings...)
		r.Measurements[i] = m.Measurement
		Span(&r.Run, m.loadgen)
	}
	more, err := surroundings(runDir, r)
	if err != nil {
		findings = append(findings, verdict.Finding{Code: contract.ExitFail, Exit: contract.ExitFail, Reason: err.Error()})
	}
	remember(runDir, r)
	findings = append(findings, more...)
	switch {
	case imported:
		r.Verdict = verdict.Imported(r.Measurements, findings)
	case plan.Execution.Phases.Benchmark || len(findings) > 0 || measuredAny(r):
		r.Verdict = verdict.Run(plan, r.Measurements, findings)
	default:
		r.Verdict = verdict.Unmeasured()
	}
	return r, nil
}

func measuredAny(r *report.Report) bool {
	return slices.ContainsFunc(r.Measurements, func(m report.Measurement) bool { return len(m.Samples) > 0 })
}

// surroundings adds what is known beside the measurements.
func surroundings(runDir string, r *report.Report) ([]verdict.Finding, error) {
	var err error
	if r.Environment.Engine, err = engine(runDir, r.Plan); err != nil {
		return nil, err
	}
	if r.Server.Queries, err = ReadQueries(runDir, r.Plan); err != nil {
		return nil, err
	}
	return unhealthy(runDir)
}

// Span widens the time of the run by that of a measurement.
func Span(run *report.RunInfo, l report.LoadGen) {
	if l.StartNS > 0 {
		if start := time.Unix(0, l.StartNS).UTC(); run.Start.IsZero() || start.Before(run.Start) {
			run.Start = start
		}
	}
	if end := time.Unix(0, l.EndNS).UTC(); l.EndNS > 0 && end.After(run.End) {
		run.End = end
	}
	if l.Version != "" {
		run.BflowVersion = l.Version
	}
	if l.Endpoint != "" {
		run.Endpoint = WithoutUser(l.Endpoint)
	}
	run.Attempt = max(run.Attempt, l.Attempt)
}

// remember fills in what only the task knew, from the report it wrote; a directory that has none is named by its
// folder.
func remember(runDir string, r *report.Report) {
	if old, err := report.Read(runDir); err == nil {
		r.Environment.Load = old.Environment.Load
		r.Run.ID, r.Run.Attempt, r.Run.Release = old.Run.ID, max(r.Run.Attempt, old.Run.Attempt), old.Run.Release
		if old.Run.Endpoint != "" {
			r.Run.Endpoint = old.Run.Endpoint
		}
	}
	if r.Run.ID == "" {
		if abs, err := filepath.Abs(runDir); err == nil {
			r.Run.ID = filepath.Base(abs)
		}
	}
	if r.Run.BflowVersion == "" {
		r.Run.BflowVersion = step.Version
	}
	r.Run.Attempt = max(1, r.Run.Attempt)
}

package assemble

import (
	"fmt"
	"path/filepath"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/loadgen/search"
	"bflow.dev/bflow/verdict"
)

// readSearch sets apart the levels that a search tried on the way to its answer: those above it fail by design. A
// search without an answer is a finding of its own.
func (m *measured) readSearch() {
	plan := &m.plan.Measurements[m.Index]
	if plan.Search == nil {
		return
	}
	var f search.Result
	if ok, err := readOptional(filepath.Join(m.dir, report.FileSearch), &f); err != nil || !ok {
		return // load-gen never got there, which is said elsewhere
	}
	for i := range m.Pooled.Stages {
		explore(&m.Pooled.Stages[i], plan, f.Value)
	}
	for i := range m.Samples {
		for j := range m.Samples[i].Stages {
			explore(&m.Samples[i].Stages[j], plan, f.Value)
		}
	}
	if f.Value == nil && f.Ended != "" {
		reason := fmt.Sprintf("measurement %d (%q): search: %s", m.Index, m.Name, f.Conclusion)
		m.findings = append(m.findings, verdict.Found(m.plan, m.Index, verdictOf(f.Ended), reason))
	}
}

// explore marks a level that is not the answer.
func explore(s *report.Stage, plan *runplan.Measurement, answer *float64) {
	if s.Stage < len(plan.Stages) {
		return
	}
	load := s.Rate
	if plan.Search.Over == runplan.SearchConcurrency {
		load = float64(s.Planned.Concurrency)
	}
	s.Explored = answer == nil || load != *answer
}

// verdictOf is the finding of a search that ended so, without an answer: the lowest level does not hold, or it could
// not be believed, or not be told.
func verdictOf(ended string) int {
	switch ended {
	case search.EndedLowFails:
		return contract.ExitBreach
	case search.EndedInvalid:
		return contract.ExitInvalid
	}
	return contract.ExitInconclusive
}

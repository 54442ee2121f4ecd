package assemble

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/verdict"
)

// measured is a measurement read from its folder, with what was found missing on the way.
type measured struct {
	report.Measurement
	plan     *runplan.RunPlan
	dir      string
	loadgen  report.LoadGen
	stages   []report.StageResult
	values   *report.HistogramReader
	client   map[stageKey]clientSums
	server   map[stageKey]*difference
	findings []verdict.Finding
}

// stageKey is one stage of one sample.
type stageKey struct{ sample, stage int }

// measure reads measurement n of a run and computes everything that the report says about it.
func measure(runDir string, plan *runplan.RunPlan, n int) *measured {
	spec := plan.Measurements[n]
	m := &measured{plan: plan, dir: report.MeasurementDir(runDir, n),
		Measurement: report.Measurement{Index: n, Name: spec.Name, Tool: spec.Tool,
			Notes: spec.Notes, Samples: []report.Sample{}, Pooled: report.Pooled{Stages: []report.Stage{}}}}
	if !m.readOutcome() {
		return m
	}
	m.readStages()
	m.openValues()
	m.readRows()
	m.server = differences(m.dir, m.loadgen.Scrapes, enginesOf(&plan.Deployment))
	m.addSamples()
	m.addPooled()
	m.readSearch()
	return m
}

// readOutcome reads loadgen.json; false where there is none, because load-gen never got to its end.
func (m *measured) readOutcome() bool {
	found, err := readOptional(filepath.Join(m.dir, contract.FileLoadGen), &m.loadgen)
	switch {
	case err != nil:
		m.fail("%v", err)
	case !found && !m.plan.Execution.Phases.Benchmark && !exists(m.dir):
		m.Notes = append(m.Notes, verdict.NothingMeasured)
		return false
	case !found && !exists(filepath.Join(m.dir, contract.FileStages)):
		m.fail("load-gen left no result")
		return false
	case !found:
		m.Interrupted = true
		m.fail("load-gen ended without a result, it was killed or its disk is full")
	}
	l := m.loadgen
	m.Complete, m.Interrupted = l.Complete, m.Interrupted || l.Interrupted
	m.TokenCountSource, m.PromptMethod, m.PromptSet = l.TokenCountSource, l.PromptMethod, l.PromptSet
	m.Notes = append(m.Notes, l.Notes...)
	switch {
	case l.Error != "":
		m.fail("%s", l.Error)
	case l.Interrupted:
		m.fail("it was interrupted; what is here is a part")
	case found && err == nil && l.Cut():
		m.Interrupted = true
		m.fail(report.Unfinished)
	}
	return true
}

func (m *measured) readStages() {
	stages, err := report.ReadStages(filepath.Join(m.dir, contract.FileStages))
	m.stages = stages
	if err != nil && (len(stages) > 0 || m.Error == "") {
		m.fail("%v", err)
	}
	seen := map[int]bool{}
	for _, s := range m.stages {
		seen[s.Stage] = true
	}
	for i, s := range m.plan.Measurements[m.Index].Stages {
		if !seen[i] && s.Measure && m.Error == "" {
			m.fail("stage %q is missing", s.Name)
		}
	}
}

// openValues finds the distributions, of which one at a time is read. Without them there is still the summary of each
// sample, so a missing file is only a note.
func (m *measured) openValues() {
	values, err := report.OpenHistograms(filepath.Join(m.dir, contract.FileHistograms))
	m.values = values
	if err != nil && len(m.stages) > 0 {
		m.noteMissing(err)
	}
}

// noteMissing notes that distributions are missing, once.
func (m *measured) noteMissing(err error) {
	if note := fmt.Sprintf("no distributions: %v", err); !slices.Contains(m.Notes, note) {
		m.Notes = append(m.Notes, note)
	}
}

// clientSums are totals over the requests of a stage, those of its warm-up and drain included, as the engine counts.
// Those of tries that were thrown away are not: the readings of the engine are of the last.
type clientSums struct {
	first     int64   // requests that saw a token
	ttftMS    float64 // sum over those
	tokensOut int64
	whole     bool  // every request was read to its end
	dialNS    int64 // the shortest that opened a connection took for it; 0 = none did
}

func (m *measured) readRows() {
	m.client = map[stageKey]clientSums{}
	rows, err := report.OpenRows(filepath.Join(m.dir, contract.FileRequests))
	if err != nil {
		if len(m.stages) > 0 {
			m.Notes = append(m.Notes, fmt.Sprintf("no rows: %v", err))
		}
		return
	}
	defer rows.Close()
	m.Clock, m.ToolVersion = rows.Header.Clock, rows.Header.ToolVersion
	if m.TokenCountSource == "" {
		m.TokenCountSource = rows.Header.TokenCountSource
	}
	for row, err := range rows.All() {
		if err != nil {
			m.Notes = append(m.Notes, fmt.Sprintf("rows end early: %v", err))
			m.client = map[stageKey]clientSums{}
			return
		}
		if row.Phase == report.PhaseUnmeasured {
			continue
		}
		key := stageKey{row.Sample, row.Stage}
		sums, known := m.client[key]
		sums.whole = (sums.whole || !known) && row.Status == report.StatusOK
		m.client[key] = sums.add(&row)
	}
}

func (c clientSums) add(row *report.Row) clientSums {
	if row.TFirst != nil && row.TSend != nil {
		c.first++
		c.ttftMS += float64(*row.TFirst-*row.TSend) / 1e6
	}
	// The shortest: a request whose kept connection was gone has the wait before the new one in its time, too.
	if row.TFirst != nil && !row.ConnReused && row.Dial > 0 && (c.dialNS == 0 || row.Dial < c.dialNS) {
		c.dialNS = row.Dial
	}
	if row.TokensOut != nil {
		c.tokensOut += int64(*row.TokensOut)
	}
	return c
}

// fail records why the measurement is not whole.
func (m *measured) fail(format string, args ...any) {
	reason := fmt.Sprintf(format, args...)
	if m.Error == "" {
		m.Error = reason
	}
	m.findings = append(m.findings, verdict.Finding{Code: contract.ExitFail, Exit: contract.ExitFail,
		Reason: fmt.Sprintf("measurement %d (%q): %s", m.Index, m.Name, reason)})
}

// judge adds gates and verdict to the pooled, measured stages. Of an imported run nothing is judged.
func (m *measured) judge(imported bool) {
	for i := range m.Pooled.Stages {
		s := &m.Pooled.Stages[i]
		if !s.Planned.Measure || s.Explored || verdict.Skipped(s) {
			continue
		}
		if imported {
			s.Verdict = verdict.NotJudged
			continue
		}
		s.Gates = verdict.Gates(m.plan.Objectives(m.Index),
			verdict.Evidence{Stage: *s, OutputPerSecond: m.outputPerSecond(s.Stage),
				Values: func(metric string) *report.Distribution { return m.pooledValues(s.Stage, metric) }})
		s.Verdict = verdict.Stage(s)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

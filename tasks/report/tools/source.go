package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/runplan"
)

// Measurement is one measurement of a run with all that an export reads of it.
type Measurement struct {
	*report.Measurement
	Plan   *runplan.Measurement
	Header report.Header // zero without rows
	Stages []Stage       // the measured ones that have a result
}

// Stage is a measured stage over all its samples.
type Stage struct {
	*report.Stage
	Rows   []report.Row                    // measured requests of all samples in order of their intended sends; nil without rows
	Values map[string]*report.Distribution // by metric, nil without distributions
	Series []report.Second                 // seconds that lie wholly in the windows of the samples
}

// Measurements reads the measurements of a run that have a measured stage. Rows and distributions that are not there
// are left out; ones that cannot be read are an error. An error is also a run without any measured stage.
func Measurements(run Run) ([]Measurement, error) {
	var out []Measurement
	for i := range run.Report.Measurements {
		m, err := measurement(run, &run.Report.Measurements[i])
		if err != nil {
			return nil, err
		}
		if len(m.Stages) > 0 {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("exporting run %q: it has no measured stage", run.Report.Run.ID)
	}
	return out, nil
}

func measurement(run Run, from *report.Measurement) (Measurement, error) {
	m := Measurement{Measurement: from, Plan: &runplan.Measurement{Name: from.Name}}
	if p := run.Report.Plan; p != nil && from.Index < len(p.Measurements) {
		m.Plan = &p.Measurements[from.Index]
	}
	for i := range from.Pooled.Stages {
		if s := &from.Pooled.Stages[i]; s.Planned.Measure && s.StartNS != 0 {
			m.Stages = append(m.Stages, Stage{Stage: s, Series: series(from, s.Stage)})
		}
	}
	if len(m.Stages) == 0 {
		return m, nil
	}
	dir := report.MeasurementDir(run.Dir, from.Index)
	if err := m.readRows(filepath.Join(dir, contract.FileRequests)); err != nil {
		return m, err
	}
	return m, m.readValues(filepath.Join(dir, contract.FileHistograms))
}

// series are the whole seconds of a stage that lie in its windows.
func series(m *report.Measurement, stage int) []report.Second {
	var out []report.Second
	for _, sample := range m.Samples {
		for _, s := range sample.Stages {
			if s.Stage != stage {
				continue
			}
			for i, second := range s.Series {
				start := s.StartNS + int64(i)*1e9
				if start >= s.Window.StartNS && start+1e9 <= s.Window.EndNS {
					out = append(out, second)
				}
			}
		}
	}
	return out
}

func (m *Measurement) readRows(path string) error {
	in, err := report.OpenRows(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	m.Header = in.Header
	at := m.byStage()
	for row, err := range in.All() {
		if err != nil {
			return err
		}
		if i, ok := at[row.Stage]; ok && row.Phase == report.PhaseMeasured {
			m.Stages[i].Rows = append(m.Stages[i].Rows, row)
		}
	}
	return nil
}

func (m *Measurement) readValues(path string) error {
	values, err := report.ReadHistograms(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	at := m.byStage()
	for key, d := range values {
		i, ok := at[key.Stage]
		if !ok {
			continue
		}
		s := &m.Stages[i]
		if s.Values == nil {
			s.Values = map[string]*report.Distribution{}
		}
		if have := s.Values[key.Metric]; have != nil {
			have.Merge(d)
		} else {
			s.Values[key.Metric] = d.Clone()
		}
	}
	return nil
}

func (m *Measurement) byStage() map[int]int {
	at := map[int]int{}
	for i := range m.Stages {
		at[m.Stages[i].StageResult.Stage] = i
	}
	return at
}

// Target returns the base URL of the server under test and the model, as far as the report knows them.
func Target(r *report.Report) (url, model string) {
	url = r.Run.Endpoint
	if r.Plan != nil {
		model = r.Plan.Deployment.Model.Name
		if url == "" && r.Plan.Deployment.Endpoint != nil {
			url = r.Plan.Deployment.Endpoint.BaseURL
		}
	}
	if e := r.Environment.Engine; e != nil && e.Model != "" {
		model = e.Model
	}
	return url, model
}

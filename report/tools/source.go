package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
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
	Requests *Requests       // the measured ones of all samples; nil without rows
	Series   []report.Second // seconds that lie wholly in the windows of the samples
	values   *report.HistogramReader
}

// Distribution reads the values of a metric over all samples; nil without any.
func (s *Stage) Distribution(metric string) (*report.Distribution, error) {
	var out *report.Distribution
	for _, key := range s.values.Keys() {
		if key.Stage != s.StageResult.Stage || key.Metric != metric {
			continue
		}
		d, err := s.values.Read(key)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = d
		} else {
			out.Merge(d)
		}
	}
	return out, nil
}

// Measurements reads the measurements of a run that have a measured stage. Rows and distributions that are not there
// are left out; ones that cannot be read are an error. An error is also a run without any measured stage.
func Measurements(ctx context.Context, run Run) ([]Measurement, error) {
	var out []Measurement
	for i := range run.Report.Measurements {
		m, err := measurement(ctx, run, &run.Report.Measurements[i])
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

func measurement(ctx context.Context, run Run, from *report.Measurement) (Measurement, error) {
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
	if err := m.readRows(ctx, filepath.Join(dir, contract.FileRequests)); err != nil {
		return m, err
	}
	return m, m.openValues(filepath.Join(dir, contract.FileHistograms))
}

// series are the whole seconds of a stage that lie in its windows.
func series(m *report.Measurement, stage int) []report.Second {
	var out []report.Second
	for _, sample := range m.Samples {
		for _, s := range sample.Stages {
			if s.Stage != stage {
				continue
			}
			for _, second := range s.WindowSeries() {
				out = append(out, second)
			}
		}
	}
	return out
}

// readRows keeps the numbers of the measured rows.
func (m *Measurement) readRows(ctx context.Context, path string) error {
	in, err := report.OpenRows(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	m.Header = in.Header
	byStage := map[int]*Requests{}
	for i := range m.Stages {
		s := &m.Stages[i]
		s.Requests = &Requests{path: path}
		byStage[s.StageResult.Stage] = s.Requests
	}
	number := 0
	for row, err := range in.All() {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if q := byStage[row.Stage]; q != nil && row.Phase == report.PhaseMeasured {
			q.Add(number, &row)
		}
		number++
	}
	return nil
}

func (m *Measurement) openValues(path string) error {
	values, err := report.OpenHistograms(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for i := range m.Stages {
		m.Stages[i].values = values
	}
	return err
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

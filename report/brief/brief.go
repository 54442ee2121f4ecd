// Package brief summarises a run in few enough bytes to store next to the run on a cluster: verdict, headline figures
// and links. It computes nothing that the report does not contain.
package brief

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/step"
)

const (
	// Schema names the format.
	Schema = "bflow.brief/1"
	// Key is that of the JSON in the ConfigMap.
	Key = "brief.json"
	// MaxSize bounds the JSON, in bytes.
	MaxSize = 32 << 10

	maxReasons = 10
	maxText    = 300
)

// Brief is a run in a few figures. Without a report, Error says why there is none.
type Brief struct {
	Schema     string              `json:"schema"`
	Run        string              `json:"run"`
	Attempt    int                 `json:"attempt"`
	Experiment string              `json:"experiment"`
	Point      string              `json:"point"` // name of the plan
	Index      int                 `json:"index"`
	Repeat     int                 `json:"repeat,omitempty"`
	Axes       []runplan.AxisValue `json:"axes,omitempty"`
	PlanHash   string              `json:"plan_hash"`
	Model      string              `json:"model"`
	Engine     string              `json:"engine"`
	GPU        string              `json:"gpu,omitempty"`
	GPUs       int                 `json:"gpus,omitempty"`
	Start      time.Time           `json:"start,omitzero"` // of the load
	End        time.Time           `json:"end,omitzero"`
	Verdict    string              `json:"verdict,omitempty"`
	ExitCode   int                 `json:"exit_code"`
	Reasons    []string            `json:"reasons,omitempty"`
	Error      string              `json:"error,omitempty"`
	Headline   *Stage              `json:"headline,omitempty"`
	Stages     []Stage             `json:"stages,omitempty"` // measured ones, as many as fit
	Omitted    int                 `json:"omitted_stages,omitempty"`
	Links      map[string]string   `json:"links,omitempty"`
}

// Stage is a measured stage over all its samples.
type Stage struct {
	Measurement string             `json:"measurement,omitempty"`
	Name        string             `json:"name"`
	Shape       string             `json:"shape,omitempty"`
	Rate        float64            `json:"rate,omitempty"`
	Concurrency int                `json:"concurrency,omitempty"`
	Verdict     string             `json:"verdict,omitempty"`
	Requests    int                `json:"requests"`
	OK          int                `json:"ok"`
	ErrorRate   *float64           `json:"error_rate,omitempty"`
	WindowS     float64            `json:"window_s,omitempty"` // seconds measured
	Rates       map[string]float64 `json:"rates,omitempty"`
	Metrics     map[string]Figures `json:"metrics,omitempty"`
}

// Figures are the usual ones of a metric, in its unit.
type Figures struct {
	Unit string   `json:"unit"`
	Mean float64  `json:"mean"`
	P50  *float64 `json:"p50,omitempty"`
	P90  *float64 `json:"p90,omitempty"`
	P95  *float64 `json:"p95,omitempty"`
	P99  *float64 `json:"p99,omitempty"`
}

// Run is what the run directory does not tell.
type Run struct {
	ID      string
	Attempt int
	Status  string // $(tasks.status) of the Pipeline: None where it was cut short
}

// Of sums the run in runDir up, as far as it came.
func Of(runDir string, plan *runplan.RunPlan, run Run) (*Brief, error) {
	b := &Brief{Schema: Schema, Run: run.ID, Attempt: run.Attempt, Experiment: plan.Experiment, Point: plan.Name,
		Index: plan.Index, Repeat: plan.Repeat,
		Axes: plan.Axes, PlanHash: plan.Hash, Model: plan.Deployment.Model.Name, Engine: plan.Deployment.Engine.Kind}
	b.GPU, b.GPUs = report.GPUs(plan)
	if err := b.addLinks(runDir); err != nil {
		return nil, err
	}
	r, err := report.Read(runDir)
	if errors.Is(err, fs.ErrNotExist) {
		b.Error, b.ExitCode = failure(runDir, run.Status)
		return b, nil
	}
	if err != nil {
		return nil, err
	}
	b.add(r)
	return b, nil
}

// Marshal returns b as JSON within MaxSize: stages that do not fit are left out, and counted.
func (b *Brief) Marshal() ([]byte, error) {
	for {
		text, err := json.Marshal(b)
		if err != nil {
			return nil, fmt.Errorf("encoding the brief of run %q: %w", b.Run, err)
		}
		if len(text) <= MaxSize || len(b.Stages) == 0 {
			return text, nil
		}
		keep := len(b.Stages) / 2
		b.Omitted += len(b.Stages) - keep
		b.Stages = b.Stages[:keep]
	}
}

func (b *Brief) add(r *report.Report) {
	b.Start, b.End = r.Run.Start, r.Run.End
	b.Verdict, b.ExitCode = r.Verdict.Verdict, r.Verdict.ExitCode
	for i, reason := range r.Verdict.Reasons {
		if i < maxReasons {
			b.Reasons = append(b.Reasons, cut(reason))
		}
	}
	headline := report.Headline(r)
	for i := range r.Measurements {
		m := &r.Measurements[i]
		for j := range m.Pooled.Stages {
			s := &m.Pooled.Stages[j]
			if !s.Planned.Measure || s.Explored {
				continue
			}
			short := stage(m, s)
			b.Stages = append(b.Stages, short)
			if s == headline {
				b.Headline = &short
			}
		}
	}
}

func stage(m *report.Measurement, s *report.Stage) Stage {
	short := Stage{Measurement: m.Name, Name: s.Planned.Name, Shape: s.Planned.Shape, WindowS: s.WindowS,
		Rate: max(s.Rate, s.Planned.Rate), Concurrency: s.Planned.Concurrency, Verdict: s.Verdict,
		Requests: s.Counts.Total, OK: s.Counts.ByStatus[report.StatusOK], ErrorRate: s.ErrorRate, Rates: s.Rates,
		Metrics: map[string]Figures{}}
	for name, metric := range s.Metrics {
		f := Figures{Unit: metric.Unit, Mean: metric.Mean}
		for quantile, into := range f.quantiles() {
			if v, ok := metric.Quantiles[quantile]; ok {
				*into = &v
			}
		}
		short.Metrics[name] = f
	}
	return short
}

// LinkMLflow is the link to the MLflow run that holds all results of a run: it is there once they were read back.
const LinkMLflow = "mlflow"

// Pushed is where the results of an attempt are in MLflow, "" where they are not: a summary vouches for no other
// attempt than its own.
func (b *Brief) Pushed(attempt int) string {
	if b == nil || b.Attempt != attempt {
		return ""
	}
	return b.Links[LinkMLflow]
}

// addLinks names the places that results went to.
func (b *Brief) addLinks(runDir string) error {
	var pushed struct {
		URL string `json:"url"`
	}
	err := step.ReadJSON(filepath.Join(runDir, report.FileMLflow), &pushed)
	if err == nil && pushed.URL != "" {
		b.Links = map[string]string{LinkMLflow: pushed.URL}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func cut(text string) string {
	r := []rune(text)
	return string(r[:min(len(r), maxText)])
}

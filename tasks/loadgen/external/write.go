package external

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan/contract"
)

func (r *run) file(name string) string { return filepath.Join(r.dir, name) }

// write writes loadgen.json.
func (r *run) write() error {
	r.summary.EndNS = time.Now().UnixNano()
	return durable.WriteJSON(r.file(contract.FileLoadGen), r.summary)
}

// finish writes everything that the samples left.
func (r *run) finish() error {
	r.describe()
	rows, err := report.CreateRows(r.file(contract.FileRequests))
	if err != nil {
		return err
	}
	hist, err := report.CreateHistograms(r.file(contract.FileHistograms))
	if err != nil {
		return err
	}
	err = durable.Replace(r.file(contract.FileStages), nil)
	for sample, in := range r.results {
		for i := range in.Stages {
			s, failed := r.stage(sample, i, in)
			err = errors.Join(err, failed, s.writeRows(rows), s.writeDistributions(hist),
				report.AppendStage(r.file(contract.FileStages), &s.result))
			r.say("%s", s.headline())
		}
	}
	if err := errors.Join(err, rows.Finish(r.header()), hist.Close(), r.log.Close(), durable.SyncTree(r.dir),
		r.write()); err != nil {
		return err
	}
	return checksums.WriteMeasurement(r.RunDir, r.Measurement)
}

// describe adds to the summary what the tool says of itself.
func (r *run) describe() {
	var sources []string
	for _, in := range r.results {
		if !slices.Contains(sources, in.TokenCountSource) && in.TokenCountSource != "" {
			sources = append(sources, in.TokenCountSource)
		}
		for _, n := range in.Notes {
			if !slices.Contains(r.summary.Notes, n) {
				r.note("%s", n)
			}
		}
	}
	switch len(sources) {
	case 0:
	case 1:
		r.summary.TokenCountSource = sources[0]
	default:
		r.summary.TokenCountSource = "mixed"
	}
	if len(r.results) > 0 {
		r.note(
			"the load was made by %s; it does not say how late its own stamps are, what processor time it wanted and did "+
				"not get, whether it was throttled, "+
				"and how many connections it opened: these validity checks were not made",
			strings.TrimSpace(r.plan.Tool+" "+r.version()))
	}
}

func (r *run) version() string {
	for _, in := range r.results {
		if in.Version != "" {
			return in.Version
		}
	}
	return ""
}

// anchor is the zero of all rows: that of the first sample.
func (r *run) anchor() int64 {
	if len(r.results) == 0 {
		return r.summary.StartNS
	}
	return r.results[0].AnchorUnixNS
}

func (r *run) header() report.Header {
	return report.Header{PlanHash: r.Plan.Hash, Run: r.RunID, Attempt: r.Attempt, Measurement: r.Measurement,
		AnchorUnixNS: r.anchor(),
		Tool:         r.plan.Tool, ToolVersion: r.version(), TokenCountSource: r.summary.TokenCountSource, Clock: "user",
		Interrupted: r.summary.Interrupted}
}

// stage is one load value of one sample on its way into the files.
type stage struct {
	result        report.StageResult
	rows          []report.Row
	distributions map[string]*report.Distribution
}

// stage makes the result of stage i of a sample: what the tool says, over it what its rows say where they are all
// there.
func (r *run) stage(sample, i int, in *tools.Imported) (*stage, error) {
	from := in.Stages[i]
	index := r.place(i, len(in.Stages))
	s := &stage{distributions: map[string]*report.Distribution{}}
	s.result = report.StageResult{Schema: report.StagesSchema, Measurement: r.Measurement, Sample: sample, Stage: index,
		Planned: from.Planned,
		StartNS: from.StartNS, EndNS: from.EndNS, DrainEndNS: from.DrainEndNS,
		Window: report.Window{StartNS: from.WindowStart, EndNS: from.WindowEnd},
		Ended:  from.Ended, Counts: from.Counts, Metrics: map[string]report.Metric{}, Rates: from.Rates,
		Goodput: from.Goodput,
		Checks:  append([]report.Check{}, from.Checks...), Tokens: from.Tokens, Series: []report.Second{}}
	if index < len(r.plan.Stages) {
		s.result.Planned = r.plan.Stages[index]
	}
	maps.Copy(s.result.Metrics, from.Metrics)
	if s.result.Rates == nil {
		s.result.Rates = map[string]float64{}
	}
	s.result.ErrorRate = s.result.Counts.ErrorRate()
	if s.result.Tokens.Sources == nil && in.TokenCountSource != "" {
		s.result.Tokens.Sources = map[string]int{in.TokenCountSource: s.result.Counts.ByStatus[report.StatusOK]}
	}
	shift := in.AnchorUnixNS - r.anchor()
	gaps, err := s.read(from, shift, index, sample)
	slices.SortStableFunc(s.rows, func(a, b report.Row) int { return int(min(1, max(-1, a.TIntended-b.TIntended))) })
	s.measure(from.Whole, gaps)
	s.compareLengths(r.plan.Data.Output)
	s.check()
	return s, err
}

// read takes the rows of a stage and returns the gaps of the requests that ended well.
func (s *stage) read(from tools.ImportedStage, shift int64, index, sample int) (gaps []float64, err error) {
	if from.Rows == nil {
		return nil, nil
	}
	waits := shape.HasSlots(s.result.Planned.Shape)
	for row, err := range from.Rows(context.Background()) { // an interrupted load is written too
		if err != nil {
			return gaps, err
		}
		if row.Stage, row.Sample = index, sample; row.Status == report.StatusOK {
			gaps = append(gaps, row.GapsMS...)
		}
		if row.TSend != nil && waits {
			row.TIntended = *row.TSend // no tool says when the slot became free
		}
		s.rows = append(s.rows, moved(row.Row, shift))
	}
	return gaps, nil
}

// place is the index of the plan's stage that the tool's i-th of n is: a tool says nothing of stages that are not
// measured.
func (r *run) place(i, n int) int {
	var measured []int
	for k, s := range r.plan.Stages {
		if s.Measure {
			measured = append(measured, k)
		}
	}
	if n != len(r.plan.Stages) && n == len(measured) {
		return measured[i]
	}
	return i
}

// moved shifts the stamps of a row.
func moved(row report.Row, by int64) report.Row {
	row.TIntended += by
	for _, t := range []**int64{&row.TSend, &row.TSent, &row.TFirstByte, &row.TFirst, &row.TContent, &row.TLast,
		&row.TEnd} {
		if *t != nil {
			at := **t + by
			*t = &at
		}
	}
	return row
}

// measure computes distributions from the rows, where these are all requests of the stage.
func (s *stage) measure(whole bool, gaps []float64) {
	if whole {
		unsaid := s.unsaid()
		for name, number := range tools.Numbers() {
			if !unsaid[name] {
				s.add(name, collect(s.counted(), number))
			}
		}
	}
	s.add("itl", gaps)
	for name, d := range s.distributions {
		if m, ok := d.Metric(); ok {
			s.result.Metrics[name] = m
		}
	}
}

// collect returns the number of every row that has it.
func collect(rows []report.Row, n tools.Number) []float64 {
	var out []float64
	for i := range rows {
		if v, ok := n(&rows[i]); ok {
			out = append(out, v)
		}
	}
	return out
}

// unsaid names the numbers that rows would give without the tool having said them: those from the intended send where
// that is the send in every row, and waits that are 0 in every row.
func (s *stage) unsaid() map[string]bool {
	intended, queued, dialled := false, false, false
	for _, row := range s.rows {
		intended = intended || row.TSend != nil && *row.TSend != row.TIntended
		queued, dialled = queued || row.QueueWait != 0, dialled || row.Dial != 0
	}
	return map[string]bool{"sched_lag": !intended, "ttft_intended": !intended, "ttfc_intended": !intended,
		"e2e_intended": !intended,
		"queue_wait":   !queued, "dial": !dialled}
}

// counted are the rows behind latencies: measured and well ended.
func (s *stage) counted() []report.Row {
	var out []report.Row
	for _, row := range s.rows {
		if row.Status == report.StatusOK && (row.Phase == "" || row.Phase == report.PhaseMeasured) {
			out = append(out, row)
		}
	}
	return out
}

func (s *stage) add(name string, values []float64) {
	if len(values) == 0 {
		return
	}
	d := report.NewDistribution(report.Unit(name))
	for _, v := range values {
		d.Add(v)
	}
	s.distributions[name] = d
}

func (s *stage) writeRows(to *report.RowWriter) error {
	for i := range s.rows {
		if err := to.Write(&s.rows[i]); err != nil {
			return err
		}
	}
	return to.Flush()
}

func (s *stage) writeDistributions(to *report.HistogramWriter) error {
	for _, name := range report.MetricNames() {
		if d := s.distributions[name]; d != nil {
			if err := to.Write(report.DistributionKey{Sample: s.result.Sample, Stage: s.result.Stage, Metric: name},
				d); err != nil {
				return err
			}
		}
	}
	return nil
}

// headline is the stage in one line.
func (s *stage) headline() string {
	errs := "no request ended"
	if s.result.ErrorRate != nil {
		errs = fmt.Sprintf("%.2f %% errors", 100**s.result.ErrorRate)
	}
	return fmt.Sprintf("sample %d stage %d %q: %d requests, %s", s.result.Sample, s.result.Stage, s.result.Planned.Name,
		s.result.Counts.Total, errs)
}

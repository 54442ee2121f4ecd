package loadgen

import (
	"context"
	"errors"
	"fmt"
	"os"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/step"
)

// retries says whether an invalid stage is measured again: not in a shard, which does not know what the others do.
func (m *measurement) retries() bool {
	if m.Shard.Of > 1 {
		return false
	}
	if m.OnInvalid != "" {
		return m.OnInvalid == runplan.InvalidRetry
	}
	return m.whole.Execution.OnInvalid == runplan.InvalidRetry
}

// stage measures a stage, again where it turns out invalid and the plan says so. What an invalid try sent is in the
// rows as unmeasured, its numbers are in retried.jsonl.
func (m *measurement) stage(ctx context.Context, sample, i int, plan runplan.Stage) (*report.StageResult, error) {
	rate, err := m.rate(plan)
	if err != nil {
		return m.skipped(sample, i, plan, err.Error())
	}
	spec := trySpec{sample: sample, index: i, plan: plan, rate: rate}
	for ; ; spec.try++ {
		r, err := m.once(ctx, &spec)
		if r != nil || err != nil {
			return r, err
		}
	}
}

// once measures a stage, and returns nil where that is to be done again; spec then says why.
func (m *measurement) once(ctx context.Context, spec *trySpec) (*report.StageResult, error) {
	t, err := m.try(ctx, *spec)
	if err != nil {
		return nil, err
	}
	defer t.spill.Close()
	if err := t.spill.Err(); err != nil {
		return nil, err
	}
	if spec.plan.Measure && spec.try+1 < runplan.MaxTries && m.retries() && ctx.Err() == nil {
		reason, err := m.setAside(t)
		if err != nil {
			return nil, err
		}
		if reason != "" {
			spec.after = reason
			m.note("sample %d stage %d %q is measured again: %s", spec.sample, spec.index, spec.plan.Name, reason)
			return nil, nil
		}
	}
	return m.finish(t)
}

// trySpec names one try at a stage.
type trySpec struct {
	sample, index, try int
	after              string // why the try before must not be believed
	plan               runplan.Stage
	rate               float64
}

// tried is a stage that was put and is not summarised yet.
type tried struct {
	trySpec
	driver *driver
	in     *record.Stage
	spill  *record.Spill
	used   self
}

// setAside summarises a try beside the results. Where it is invalid it says why, keeps its rows as unmeasured and its
// numbers in retried.jsonl.
func (m *measurement) setAside(t *tried) (reason string, err error) {
	rows, err := report.CreateRows(m.file("try"))
	if err != nil {
		return "", err
	}
	values, err := report.CreateHistograms(m.file("try.bin"))
	if err != nil {
		return "", err
	}
	defer func() {
		err = errors.Join(err, values.Close(), os.Remove(m.file("try.bin")), rows.Finish(report.Header{}),
			os.Remove(m.file("try")))
	}()
	sum, err := record.Summarize(t.spill, t.in, record.Outputs{Rows: rows, Values: values})
	if err != nil {
		return "", err
	}
	r := m.result(t, sum)
	if reason = invalid(r); reason == "" {
		return "", nil
	}
	unmeasured := *t.in
	unmeasured.Plan.Measure = false
	if _, err := record.Summarize(t.spill, &unmeasured, record.Outputs{Rows: m.files.Rows, Values: values}); err != nil {
		return "", err
	}
	return reason, errors.Join(report.AppendStage(m.file(report.FileRetried), r), t.spill.Remove())
}

// endInvalid ends the task with the exit code that --on-invalid asks for.
func (m *measurement) endInvalid() error {
	if m.OnInvalid != runplan.InvalidFail && m.OnInvalid != runplan.InvalidRetry || m.invalid == "" {
		return nil
	}
	return step.Exit(contract.ExitInvalid, fmt.Errorf("the measurement is invalid: %s", m.invalid))
}

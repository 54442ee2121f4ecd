package load

import (
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
)

// native translates the format's own load block, which was checked when it was read. What overrides change of it is checked
// again.
func (t *translator) native() {
	b := t.src.Load
	if b == nil {
		t.block.errorf("needs a load block")
		return
	}
	if t.over.rates.set() {
		t.over.rates.errorf("a native load block holds its rates in load.stages: change them there, or with matrix.axes")
	}
	t.blockAPI(&b.API)
	if t.over.requestType.set() {
		t.reportAt("data", b.Data.checkImages(t.m.API.Type))
	}
	t.checkSource(&b.Data)
	t.m.Record, t.m.Data.Seed = b.Record.plan(), b.Data.Seed
	for i := range b.Stages {
		t.blockStages(item("stages", i), &b.Stages[i], &b.Data)
	}
	t.blockSweep(b.Sweep, &b.Data)
	t.blockSearch(b.Search)
	if len(t.m.Stages) == 0 {
		t.m.Data = b.Data.plan(0)
		return
	}
	t.settleData()
}

// reportAt reports findings about what stands at a path of the block.
func (t *translator) reportAt(path string, found problem.Findings) {
	for _, f := range found {
		t.block.below(problem.Join(path, f.Path)).errorf("%s", f.Text)
	}
}

// checkSource finds data without a source of prompts.
func (t *translator) checkSource(d *NativeData) {
	if d.Input == nil && d.Trace == nil && d.File == nil {
		t.block.below("data").errorf("needs data.input (tokens), data.file or data.trace")
	}
}

func (r *Record) plan() *runplan.Record {
	if r == nil {
		return nil
	}
	return &runplan.Record{Gaps: r.Gaps, Texts: r.Texts, Slice: runplan.Duration(r.Slice), Parquet: r.Parquet}
}

package load

import (
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// Native is the name of the format's own load block among tools.
const Native = "native"

// Definition names the block.
func (b *NativeBlock) Definition() tool.Definition { return tool.Definition{Name: Native, Key: "load"} }

// Translate fills in a measurement from the block, which was checked when it was read. What overrides change of it is
// checked again.
func (b *NativeBlock) Translate(d *tool.Draft) {
	if b == nil {
		d.Block.Errorf("needs a load block")
		return
	}
	if d.Over.Rates.IsSet() {
		d.Over.Rates.Errorf("a native load block holds its rates in load.stages: change them there, or with matrix.axes")
	}
	addAPI(d, &b.API)
	if d.Over.RequestType.IsSet() {
		reportAt(d, "data", b.Data.checkImages(d.API.Type))
	}
	checkSource(d, &b.Data)
	d.Record, d.Data.Seed = b.Record.plan(), b.Data.Seed
	for i := range b.Stages {
		addStages(d, item("stages", i), &b.Stages[i], &b.Data)
	}
	addSweep(d, b.Sweep, &b.Data)
	addSearch(d, b.Search)
	if len(d.Stages) == 0 {
		d.Data = b.Data.plan(0)
		return
	}
	d.SettleData()
}

// reportAt reports findings about what stands at a path of the block.
func reportAt(d *tool.Draft, path string, found problem.Findings) {
	for _, f := range found {
		d.Block.Below(problem.Join(path, f.Path)).Errorf("%s", f.Text)
	}
}

// checkSource finds data without a source of prompts.
func checkSource(d *tool.Draft, data *NativeData) {
	if data.Input == nil && data.Trace == nil && data.File == nil {
		d.Block.Below("data").Errorf("needs data.input (tokens), data.file or data.trace")
	}
}

func (r *Record) plan() *runplan.Record {
	if r == nil {
		return nil
	}
	return &runplan.Record{Gaps: r.Gaps, Texts: r.Texts, Slice: runplan.Duration(r.Slice), Parquet: r.Parquet}
}

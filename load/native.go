package load

import (
	"time"

	"bflow.dev/bflow/runplan"
)

// native reads the format's own load block.
func (t *translator) native() {
	t.m.API = runplan.API{Stream: true, VerifyTLS: true, ExactOutput: true, Timeout: runplan.Duration(600 * time.Second)}
	if !t.block.set() {
		t.block.errorf("needs a load block")
		return
	}
	if t.over.rates.set() {
		t.over.rates.errorf("a native load block holds its rates in load.stages: change them there, or with matrix.axes")
	}
	f := t.block.fields()
	t.nativeAPI(f.get("api"))
	data := f.get("data")
	stages, sweep, search := f.get("stages"), f.get("sweep"), f.get("search")
	t.nativeRecord(f.get("record"))
	f.close()
	if !stages.set() && !sweep.set() && !search.set() {
		t.block.errorf("needs stages, a sweep or a search")
	}
	for _, s := range stages.items() {
		t.nativeStages(s, data)
	}
	t.nativeSweep(sweep, data)
	t.nativeSearch(search)
	if len(t.m.Stages) == 0 {
		t.m.Data = t.nativeData(data)
		return
	}
	t.settleData()
}

// positiveDuration reads a duration above 0, def when v is not set.
func positiveDuration(v value, def time.Duration) runplan.Duration {
	d := v.durationOr(def)
	if v.set() && v.node.Value != "" && d == 0 {
		v.errorf("want a duration above 0, found %q", v.text())
	}
	return d
}

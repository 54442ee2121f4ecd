package load

import (
	"time"

	"bflow.dev/bflow/tasks/runplan"
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
	t.nativeSearch(f.get("search"))
	stages := f.get("stages")
	f.close()
	if !stages.set() && t.m.Search == nil {
		t.block.errorf("needs stages or a search")
	}
	for _, s := range stages.items() {
		t.nativeStages(s, data)
	}
	if len(t.m.Stages) == 0 {
		t.m.Data = t.nativeData(data)
		return
	}
	t.settleData()
}

func (t *translator) nativeAPI(v value) {
	f := v.fields()
	kind := f.get("type").requestType(runplan.APIChat)
	if t.over.requestType.set() {
		kind = t.over.requestType.requestType(runplan.APIChat)
	}
	t.setAPI(kind, f.get("path"))
	t.m.API.Stream = f.get("stream").booleanOr(true)
	t.headers(f.get("headers"))
	t.m.API.Body = f.get("body").anyMap()
	t.m.API.Timeout = positiveDuration(f.get("timeout"), 600*time.Second)
	t.m.API.VerifyTLS = f.get("verify_tls").booleanOr(true)
	t.m.API.ExactOutput = f.get("exact_output").booleanOr(true)
	if secret := f.get("api_key_secret"); secret.set() {
		s := secret.fields()
		t.m.API.APIKeySecret = &runplan.SecretKey{Name: s.must("name").text(), Key: s.must("key").text()}
		s.close()
	}
	f.close()
}

// positiveDuration reads a duration above 0, def when v is not set.
func positiveDuration(v value, def time.Duration) runplan.Duration {
	d := v.durationOr(def)
	if v.set() && v.node.Value != "" && d == 0 {
		v.errorf("want a duration above 0, found %q", v.text())
	}
	return d
}

func (t *translator) nativeSearch(v value) {
	if !v.set() {
		return
	}
	f := v.fields()
	s := &runplan.Search{Goodput: f.must("goodput").fraction(), Low: f.must("low").positive(), High: f.must("high").positive()}
	f.close()
	if s.Low >= s.High {
		v.errorf("low %v is not below high %v", s.Low, s.High)
	}
	t.m.Search = s
}

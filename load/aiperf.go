package load

import (
	"strings"
	"time"

	"bflow.dev/bflow/runplan"
)

func (t *translator) aiperf() {
	t.m.API = runplan.API{VerifyTLS: true, Timeout: runplan.Duration(6 * time.Hour)}
	if t.over.rates.set() {
		t.over.rates.errorf("has no meaning for aiperf: set concurrency or request_rate in the profile")
	}
	f := t.block.fields()
	if !t.block.set() {
		t.block.errorf("needs an aiperf block")
		return
	}
	t.aiperfAPI(f)
	t.aiperfData(f)
	t.aiperfStages(f)
	t.aiperfRest(f)
	f.close()
}

// aiperfRest takes the flags that do not change the load, and those that only the tool itself follows.
func (t *translator) aiperfRest(f *fields) {
	if n := f.get("num_profile_runs"); n.set() && n.integer(1) > 1 {
		n.notef("has no effect: say matrix.repeat or execution.samples")
	}
	if d := f.get("slice_duration"); d.set() {
		t.m.Record = &runplan.Record{Slice: d.positiveSeconds()}
	}
	f.noted(setByRunner, "url", "urls", "model", "model_names", "output_artifact_dir", "artifact_dir")
	f.defaultOnly(aiperfDefaults())
	f.ignore(aiperfQuiet()...)
	f.toolOnly(aiperfOnly()...)
}

func (t *translator) aiperfAPI(f *fields) {
	kind := f.must("endpoint_type")
	path := f.get("endpoint_path", "endpoint", "custom_endpoint")
	if t.over.requestType.set() {
		kind, path = t.over.requestType, value{}
	}
	t.m.API.Stream = f.get("streaming").booleanOr(true)
	t.setAPI(kind.requestType(runplan.APIChat), path.text())
	t.apiKey(f.get("api_key"), f.get("api_key").text())
	for _, h := range f.get("header", "headers").items() {
		t.headers(h.colonPairs())
	}
	for _, x := range f.get("extra_inputs").items() {
		t.aiperfExtra(x.colonPairs())
	}
	if d := f.get("request_timeout_seconds"); d.set() {
		t.m.API.Timeout = d.positiveSeconds()
	}
	for _, e := range f.get("goodput").items() {
		t.goodputPairs(e, time.Millisecond)
	}
	if share := f.get("request_cancellation_rate"); share.set() {
		t.m.API.Cancel = &runplan.Cancel{Share: share.numberAtLeast(0) / 100, After: f.get("request_cancellation_delay").seconds(time.Second)}
		if t.m.API.Cancel.Share > 1 {
			share.errorf("want a percentage from 0 to 100, found %s", share.text())
		}
	}
	f.ignore("request_cancellation_delay")
	t.aiperfVerify()
}

// aiperfVerify follows the tool's own switch for certificates.
func (t *translator) aiperfVerify() {
	if strings.EqualFold(t.m.Env["AIPERF_HTTP_SSL_VERIFY"], "false") {
		t.m.API.VerifyTLS = false
	}
}

func (t *translator) aiperfExtra(v value) {
	for _, e := range v.fields().entries {
		if e.key == "ignore_eos" {
			t.m.API.ExactOutput = e.value.boolean()
			continue
		}
		t.body(e.key, e.value.any())
	}
}

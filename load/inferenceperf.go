package load

import (
	"strings"
	"time"

	"bflow.dev/bflow/runplan"
)

// inferencePerf reads the tool's own YAML: the block is what stands below the key config.
func (t *translator) inferencePerf() {
	t.m.API = runplan.API{VerifyTLS: true, ExactOutput: true, Timeout: runplan.Duration(600 * time.Second)}
	for _, v := range []value{t.over.rates, t.over.maxSeconds, t.over.maxRequests} {
		if v.set() {
			v.errorf("has no meaning for inference-perf: change load.stages of its config")
		}
	}
	f := t.block.fields()
	if len(f.entries) == 0 {
		t.block.errorf("must not be empty")
		return
	}
	t.perfAPI(f.get("api"))
	t.perfServer(f.get("server"))
	t.perfData(f.get("data"))
	t.perfLoad(f.must("load"))
	t.perfReport(f.get("report"))
	if s := f.get("storage"); s.set() {
		s.notef("has no effect: results go to the run directory")
	}
	perfTokenizer(f.get("tokenizer"))
	f.ignore("metrics")
	perfBreakers(f)
	f.close()
}

// perfTokenizer takes settings of the tool's own counting. A data block that slipped below them is a mistake that has
// been published.
func perfTokenizer(v value) {
	if !v.set() {
		return
	}
	f := v.fields()
	if d := f.get("data"); d.set() {
		d.errorf("is nested below tokenizer: move it to the level of load")
	}
	f.ignore("pretrained_model_name_or_path", "trust_remote_code", "token", "load_timeout")
	f.close()
	v.notef("tokens are counted by the server here")
}

// perfBreakers takes rules about metrics of the server; an empty list asks for nothing.
func perfBreakers(f *fields) {
	if v := f.get("circuit_breakers"); v.set() && !isZero(v) {
		v.needsTool("%q is known to the real tool only", "circuit_breakers")
	}
}

func (t *translator) perfAPI(v value) {
	f := v.fields()
	kind := f.get("type").requestType(runplan.APICompletions)
	if t.over.requestType.set() {
		kind = t.over.kind()
	}
	t.m.API.Stream = f.get("streaming").boolean()
	t.setAPI(kind, "")
	headers := f.get("headers")
	t.headers(headers)
	if r := f.get("response_format"); r.set() {
		t.body("response_format", r.any())
	}
	t.perfHeaderSLO(f, headers)
	f.toolOnly("session_id_header_key", "session_token_header_key")
	f.close()
}

// perfHeaderSLO reads the objectives that the tool sends in headers.
func (t *translator) perfHeaderSLO(f *fields, headers value) {
	unit := f.get("slo_unit").word("ms", "s", "us")
	per := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "us": time.Microsecond}[unit]
	g := runplan.Goodput{
		TTFT: headerSLO(headers, f.get("slo_ttft_header"), "x-slo-ttft-"+unit, per),
		TPOT: headerSLO(headers, f.get("slo_tpot_header"), "x-slo-tpot-"+unit, per),
	}
	if g.TTFT > 0 || g.TPOT > 0 {
		t.slo = &runplan.SLO{Goodput: &g, OnBreach: "report"}
	}
}

// headerSLO reads one objective from the header of that name, def where no name is given.
func headerSLO(headers, name value, def string, per time.Duration) runplan.Duration {
	if name.set() {
		def = name.text()
	}
	for _, e := range headers.fields().entries {
		if strings.EqualFold(e.key, def) {
			return e.value.seconds(per)
		}
	}
	return 0
}

func (t *translator) perfServer(v value) {
	f := v.fields()
	f.ignore("type")
	t.m.API.ExactOutput = f.get("ignore_eos").booleanOr(true)
	t.apiKey(f.get("api_key"), f.get("api_key").text())
	f.noted(setByRunner, "model_name", "base_url")
	if cert, key := f.get("cert_path"), f.get("key_path"); cert.set() || key.set() {
		t.m.API.TLS = &runplan.TLSFiles{Cert: cert.text(), Key: key.text()}
		if cert.set() != key.set() {
			v.errorf("cert_path and key_path go together")
		}
	}
	f.close()
}

func (t *translator) perfReport(v value) {
	f := v.fields()
	f.ignore("request_lifecycle", "prometheus", "session_lifecycle")
	if g := f.get("goodput"); g.set() {
		inner := g.fields()
		t.perfGoodput(inner.get("constraints"))
		inner.close()
	}
	f.close()
}

// perfGoodput reads objectives in seconds.
func (t *translator) perfGoodput(v value) {
	f := v.fields()
	g := runplan.Goodput{
		TTFT: f.get("ttft").seconds(time.Second), TPOT: f.get("tpot").seconds(time.Second), E2E: f.get("request_latency").seconds(time.Second),
	}
	f.noted("is not judged here: goodput knows ttft, tpot and request_latency", "itl", "ntpot")
	f.close()
	if g != (runplan.Goodput{}) {
		t.slo = &runplan.SLO{Goodput: &g, OnBreach: "report"}
	}
}

package load

import (
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/runplan"
)

func (t *translator) nativeAPI(v value) {
	f := v.fields()
	kind := f.get("type").requestType(runplan.APIChat)
	if t.over.requestType.set() {
		kind = t.over.requestType.requestType(runplan.APIChat)
	}
	t.m.API.Stream = f.get("stream").booleanOr(true)
	t.setAPI(kind, f.get("path"))
	t.headers(f.get("headers"))
	t.m.API.Body = f.get("body").anyMap()
	t.m.API.Timeout = positiveDuration(f.get("timeout"), 600*time.Second)
	t.m.API.VerifyTLS = f.get("verify_tls").booleanOr(true)
	t.m.API.ExactOutput = f.get("exact_output").booleanOr(true)
	t.promptForm(f.get("prompt_form"))
	if secret := f.get("api_key_secret"); secret.set() {
		s := secret.fields()
		t.m.API.APIKeySecret = &runplan.SecretKey{Name: s.must("name").text(), Key: s.must("key").text()}
		s.close()
	}
	t.nativeConnection(f)
	t.nativeClients(f)
	t.nativeHeaderSLO(f.get("slo_headers"))
	f.close()
}

// nativeConnection reads how connections are made, bounded and repeated.
func (t *translator) nativeConnection(f *fields) {
	api := &t.m.API
	api.ConnectTimeout = positiveDuration(f.get("connect_timeout"), 0)
	api.ReadTimeout = positiveDuration(f.get("read_timeout"), 0)
	api.HTTP2 = f.get("http2").boolean()
	if v := f.get("tls"); v.set() {
		files := v.fields()
		api.TLS = &runplan.TLSFiles{CA: files.get("ca").text(), Cert: files.get("cert").text(), Key: files.get("key").text()}
		if files.close(); (api.TLS.Cert == "") != (api.TLS.Key == "") {
			v.errorf("cert and key go together")
		}
	}
	if v := f.get("retry"); v.set() {
		r := v.fields()
		api.Retry = &runplan.Retry{Attempts: r.must("attempts").integer(1), Backoff: r.get("backoff").durationOr(500 * time.Millisecond)}
		r.close()
	}
}

// nativeClients reads what requests differ in: who gives up, which adapter, which priority.
func (t *translator) nativeClients(f *fields) {
	api := &t.m.API
	if v := f.get("cancel"); v.set() {
		c := v.fields()
		api.Cancel = &runplan.Cancel{Share: c.must("share").fraction(), After: c.get("after").duration()}
		c.close()
	}
	for _, v := range f.get("adapters").items() {
		if v.is(yaml.ScalarNode) {
			api.Adapters = append(api.Adapters, runplan.Adapter{Name: v.text(), Weight: 1})
			continue
		}
		a := v.fields()
		api.Adapters = append(api.Adapters, runplan.Adapter{Name: a.must("name").text(), Weight: a.numberOr("weight", 1)})
		a.close()
	}
	for _, v := range f.get("priorities").items() {
		p := v.fields()
		api.Priorities = append(api.Priorities, runplan.Weight{Value: int(p.must("value").seed()), Weight: p.numberOr("weight", 1)})
		p.close()
	}
}

// sloUnits are the units of objectives in request headers.
func sloUnits() map[string]time.Duration {
	return map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "us": time.Microsecond}
}

// nativeHeaderSLO sends objectives in request headers, x-slo-ttft-<unit> unless it is given another name, and judges
// by them where the experiment has no slo of its own.
func (t *translator) nativeHeaderSLO(v value) {
	if !v.set() {
		return
	}
	f := v.fields()
	unit := f.get("unit").word("ms", "s", "us")
	g := runplan.Goodput{TTFT: positiveDuration(f.get("ttft"), 0), TPOT: positiveDuration(f.get("tpot"), 0)}
	names := [2]value{f.get("ttft_header"), f.get("tpot_header")}
	f.close()
	if g.TTFT == 0 && g.TPOT == 0 {
		v.errorf("needs ttft or tpot")
		return
	}
	t.sloHeader(v, names[0], "x-slo-ttft-"+unit, g.TTFT, sloUnits()[unit])
	t.sloHeader(v, names[1], "x-slo-tpot-"+unit, g.TPOT, sloUnits()[unit])
	t.slo = &runplan.SLO{Goodput: &g, OnBreach: "report"}
}

func (t *translator) sloHeader(at, name value, def string, limit runplan.Duration, per time.Duration) {
	if name.set() {
		def = name.text()
	}
	if limit > 0 {
		t.header(at, def, strconv.FormatFloat(float64(limit)/float64(per), 'f', -1, 64))
	}
}

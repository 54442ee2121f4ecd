package inferenceperf

import (
	"strings"
	"time"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// Translate reads the tool's own YAML: the block is what stands below the key config.
func (Tool) Translate(d *tool.Draft) {
	d.API = runplan.API{VerifyTLS: true, ExactOutput: true, Timeout: runplan.Duration(600 * time.Second)}
	for _, v := range []tool.Value{d.Over.Rates, d.Over.MaxSeconds, d.Over.MaxRequests} {
		if v.IsSet() {
			v.Errorf("has no meaning for inference-perf: change load.stages of its config")
		}
	}
	f := d.Block.Fields()
	if len(f.Entries) == 0 {
		d.Block.Errorf("must not be empty")
		return
	}
	readAPI(d, f.Get("api"))
	readServer(d, f.Get("server"))
	sessions := readData(d, f.Get("data"))
	readLoad(d, f.Must("load"), sessions)
	readReport(d, f.Get("report"))
	if s := f.Get("storage"); s.IsSet() {
		s.Notef("has no effect: results go to the run directory")
	}
	readTokenizer(f.Get("tokenizer"))
	f.Ignore("metrics")
	readBreakers(f)
	f.Close()
}

// readTokenizer takes settings of the tool's own counting. A data block that slipped below them is a mistake that has
// been published.
func readTokenizer(v tool.Value) {
	if !v.IsSet() {
		return
	}
	f := v.Fields()
	if d := f.Get("data"); d.IsSet() {
		d.Errorf("is nested below tokenizer: move it to the level of load")
	}
	f.Ignore("pretrained_model_name_or_path", "trust_remote_code", "token", "load_timeout")
	f.Close()
	v.Notef(tool.CountedByServer)
}

// readBreakers takes rules about metrics of the server; an empty list asks for nothing.
func readBreakers(f *tool.Fields) {
	if v := f.Get("circuit_breakers"); v.IsSet() && !v.IsEmpty() {
		v.KnownToTool("circuit_breakers")
	}
}

func readAPI(d *tool.Draft, v tool.Value) {
	f := v.Fields()
	kind := f.Get("type").RequestType(runplan.APICompletions)
	if d.Over.RequestType.IsSet() {
		kind = d.Over.RequestKind()
	}
	d.API.Stream = f.Get("streaming").Bool()
	d.SetAPI(kind, "")
	headers := f.Get("headers")
	d.AddHeaders(headers)
	if r := f.Get("response_format"); r.IsSet() {
		d.SetBody("response_format", r.Any())
	}
	readHeaderSLO(d, f, headers)
	f.ToolOnly("session_id_header_key", "session_token_header_key")
	f.Close()
}

// readHeaderSLO reads the objectives that the tool sends in headers.
func readHeaderSLO(d *tool.Draft, f *tool.Fields, headers tool.Value) {
	unit := f.Get("slo_unit").Word("ms", "s", "us")
	per := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "us": time.Microsecond}[unit]
	g := runplan.Goodput{
		TTFT: headerSLO(headers, f.Get("slo_ttft_header"), "x-slo-ttft-"+unit, per),
		TPOT: headerSLO(headers, f.Get("slo_tpot_header"), "x-slo-tpot-"+unit, per),
	}
	if g.TTFT > 0 || g.TPOT > 0 {
		d.SLO = &runplan.SLO{Goodput: &g, OnBreach: "report"}
	}
}

// headerSLO reads one objective from the header of that name, def where no name is given.
func headerSLO(headers, name tool.Value, def string, per time.Duration) runplan.Duration {
	if name.IsSet() {
		def = name.Text()
	}
	for _, e := range headers.Fields().Entries {
		if strings.EqualFold(e.Key, def) {
			return e.Value.Seconds(per)
		}
	}
	return 0
}

func readServer(d *tool.Draft, v tool.Value) {
	f := v.Fields()
	f.Ignore("type")
	d.API.ExactOutput = f.Get("ignore_eos").BoolOr(true)
	d.TakeKey(f.Get("api_key"), f.Get("api_key").Text())
	f.Noted(tool.SetByRunner, "model_name", "base_url")
	if cert, key := f.Get("cert_path"), f.Get("key_path"); cert.IsSet() || key.IsSet() {
		d.API.TLS = &runplan.TLSFiles{Cert: cert.Text(), Key: key.Text()}
		if cert.IsSet() != key.IsSet() {
			v.Errorf("cert_path and key_path go together")
		}
	}
	f.Close()
}

func readReport(d *tool.Draft, v tool.Value) {
	f := v.Fields()
	f.Ignore("request_lifecycle", "prometheus", "session_lifecycle")
	if g := f.Get("goodput"); g.IsSet() {
		inner := g.Fields()
		readGoodput(d, inner.Get("constraints"))
		inner.Close()
	}
	f.Close()
}

// readGoodput reads objectives in seconds.
func readGoodput(d *tool.Draft, v tool.Value) {
	f := v.Fields()
	g := runplan.Goodput{
		TTFT: f.Get("ttft").Seconds(time.Second), TPOT: f.Get("tpot").Seconds(time.Second),
		E2E: f.Get("request_latency").Seconds(time.Second),
	}
	f.Noted("is not judged here: goodput knows ttft, tpot and request_latency", "itl", "ntpot")
	f.Close()
	if g != (runplan.Goodput{}) {
		d.SLO = &runplan.SLO{Goodput: &g, OnBreach: "report"}
	}
}

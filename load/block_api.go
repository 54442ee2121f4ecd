package load

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// addAPI translates how requests are put.
func addAPI(d *tool.Draft, a *NativeAPI) {
	kind := a.kind()
	kind = cmp.Or(d.Over.RequestKind(), kind)
	api := &d.API
	api.Stream, api.VerifyTLS, api.ExactOutput = a.Stream, a.VerifyTLS, a.ExactOutput
	d.SetAPI(kind, a.Path)
	for _, name := range slices.Sorted(maps.Keys(a.Headers)) {
		d.AddHeader(d.Block.Below(tool.Join("api.headers", name)), name, a.Headers[name])
	}
	if a.Body.Node != nil {
		api.Body = d.Block.At(a.Body.Node, d.Block.Below("api.body").Path).AnyMap()
	}
	api.PromptForm = tool.PromptForms()[a.PromptForm]
	if s := a.APIKeySecret; s != nil {
		api.APIKeySecret = &runplan.SecretKey{Name: s.Name, Key: s.Key}
	}
	a.fillConnection(api)
	a.fillClients(api)
	addSLO(d, a.SLOHeaders)
}

// fillConnection fills in how connections are made, bounded and repeated.
func (a *NativeAPI) fillConnection(api *runplan.API) {
	api.Timeout, api.HTTP2 = runplan.Duration(a.Timeout), a.HTTP2
	api.ConnectTimeout, api.ReadTimeout = runplan.Duration(a.ConnectTimeout), runplan.Duration(a.ReadTimeout)
	if f := a.TLS; f != nil {
		api.TLS = &runplan.TLSFiles{CA: f.CA, Cert: f.Cert, Key: f.Key}
	}
	if r := a.Retry; r != nil {
		api.Retry = &runplan.Retry{Attempts: r.Attempts, Backoff: runplan.Duration(r.Backoff)}
	}
}

// fillClients fills in what requests differ in: who gives up, which adapter, which priority.
func (a *NativeAPI) fillClients(api *runplan.API) {
	if c := a.Cancel; c != nil {
		api.Cancel = &runplan.Cancel{Share: c.Share, After: runplan.Duration(c.After)}
	}
	for _, one := range a.Adapters {
		api.Adapters = append(api.Adapters, runplan.Adapter{Name: one.Name, Weight: one.Weight})
	}
	for _, p := range a.Priorities {
		api.Priorities = append(api.Priorities, runplan.Weight{Value: p.Value, Weight: p.Weight})
	}
}

// sloUnits are the units of objectives in request headers.
func sloUnits() map[string]time.Duration {
	return map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "us": time.Microsecond}
}

// addSLO sends objectives in request headers, x-slo-ttft-<unit> unless it is given another name, and judges
// by them where the experiment has no slo of its own.
func addSLO(d *tool.Draft, s *SLOHeaders) {
	if s == nil {
		return
	}
	g := runplan.Goodput{TTFT: runplan.Duration(s.TTFT), TPOT: runplan.Duration(s.TPOT)}
	for _, h := range []struct {
		name, own string
		limit     runplan.Duration
	}{{s.TTFTHeader, "x-slo-ttft-" + s.Unit, g.TTFT}, {s.TPOTHeader, "x-slo-tpot-" + s.Unit, g.TPOT}} {
		if h.name == "" {
			h.name = h.own
		}
		if h.limit > 0 {
			units := float64(h.limit) / float64(sloUnits()[s.Unit])
			d.AddHeader(d.Block.Below("api.slo_headers"), h.name, strconv.FormatFloat(units, 'f', -1, 64))
		}
	}
	d.SLO = &runplan.SLO{Goodput: &g, OnBreach: "report"}
}

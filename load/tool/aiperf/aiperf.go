package aiperf

import (
	"strings"
	"time"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// Translate reads the flags of a profile.
func (Tool) Translate(d *tool.Draft) {
	d.API = runplan.API{VerifyTLS: true, Timeout: runplan.Duration(6 * time.Hour)}
	if d.Over.Rates.IsSet() {
		d.Over.Rates.Errorf("has no meaning for aiperf: set concurrency or request_rate in the profile")
	}
	f := d.Block.Fields()
	if !d.Block.IsSet() {
		d.Block.Errorf("needs an aiperf block")
		return
	}
	readAPI(d, f)
	readData(d, f)
	readStages(d, f)
	readRest(d, f)
	f.Close()
}

// readRest takes the flags that do not change the load, and those that only the tool itself follows.
func readRest(d *tool.Draft, f *tool.Fields) {
	if n := f.Get("num_profile_runs"); n.IsSet() && n.Integer(1) > 1 {
		n.Notef("has no effect: say matrix.repeat or execution.samples")
	}
	if x := f.Get("slice_duration"); x.IsSet() {
		d.Record = &runplan.Record{Slice: x.PositiveSeconds()}
	}
	f.Noted(tool.SetByRunner, "url", "urls", "model", "model_names", "output_artifact_dir", "artifact_dir")
	_, defaults := keys(atDefault)
	f.DefaultOnly(defaults)
	ignored, _ := keys(quiet)
	f.Ignore(ignored...)
	others, _ := keys(toolOnly)
	f.ToolOnly(others...)
}

func readAPI(d *tool.Draft, f *tool.Fields) {
	kind := f.Must("endpoint_type")
	path := f.Get("endpoint_path", "endpoint", "custom_endpoint")
	if d.Over.RequestType.IsSet() {
		kind, path = d.Over.RequestType, tool.Value{}
	}
	d.API.Stream = f.Get("streaming").BoolOr(true)
	d.SetAPI(kind.RequestType(runplan.APIChat), path.Text())
	d.TakeKey(f.Get("api_key"), f.Get("api_key").Text())
	for _, h := range f.Get("header", "headers").Items() {
		d.AddHeaders(h.ColonPairs())
	}
	for _, x := range f.Get("extra_inputs").Items() {
		readExtra(d, x.ColonPairs())
	}
	if x := f.Get("request_timeout_seconds"); x.IsSet() {
		d.API.Timeout = x.PositiveSeconds()
	}
	for _, e := range f.Get("goodput").Items() {
		d.ReadGoodput(e, time.Millisecond)
	}
	if share := f.Get("request_cancellation_rate"); share.IsSet() {
		d.API.Cancel = &runplan.Cancel{Share: share.NumberAtLeast(0) / 100,
			After: f.Get("request_cancellation_delay").Seconds(time.Second)}
		if d.API.Cancel.Share > 1 {
			share.Errorf("want a percentage from 0 to 100, found %s", share.Text())
		}
	}
	f.Ignore("request_cancellation_delay")
	readVerify(d)
}

// readVerify follows the tool's own switch for certificates.
func readVerify(d *tool.Draft) {
	if strings.EqualFold(d.Env["AIPERF_HTTP_SSL_VERIFY"], "false") {
		d.API.VerifyTLS = false
	}
}

func readExtra(d *tool.Draft, v tool.Value) {
	for _, e := range v.Fields().Entries {
		if e.Key == "ignore_eos" {
			d.API.ExactOutput = e.Value.Bool()
			continue
		}
		d.SetBody(e.Key, e.Value.Any())
	}
}

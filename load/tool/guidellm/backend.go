package guidellm

import (
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

func readBackend(d *tool.Draft, v tool.Value) {
	f := v.Typed().Fields()
	switch f.Get("kind", "type").Word("openai_http", "openai_websocket", "vllm_python", "vllm_python_async",
		"vllm_python_batch") {
	case "openai_http":
	default:
		f.At.NeedsTool("backend kind %q", f.Get("kind").Text())
		f.ToolOnly("vllm_config", "image_placeholder", "audio_placeholder", "batch_size", "batch_timeout", "chunk_samples")
	}
	kind := f.Get("request_format", "request_type").RequestType(runplan.APIChat)
	if d.Over.RequestType.IsSet() {
		kind = d.Over.RequestKind()
	}
	d.API.Stream = f.Get("stream").BoolOr(true)
	d.SetAPI(kind, routeOf(f.Get("api_routes"), kind).Text())
	d.TakeKey(f.Get("api_key"), f.Get("api_key").Text())
	d.API.VerifyTLS = f.Get("verify").BoolOr(true)
	if x := f.Get("timeout"); x.IsSet() {
		d.API.Timeout = x.PositiveSeconds()
	}
	d.API.ConnectTimeout = f.Get("timeout_connect").PositiveSeconds()
	d.API.HTTP2 = f.Get("http2").Bool()
	readExtras(d, f.Get("extras"))
	if n := f.Get("max_tokens"); n.IsSet() {
		d.SetBody("max_tokens", n.Integer(1))
	}
	f.Noted("has no effect here: an answer that redirects is an error", "follow_redirects")
	f.Noted("has no effect here: the smoke test asks the server first", "validate_backend")
	f.Noted(tool.SetByRunner, "target", "model")
	for _, name := range []string{"server_history", "multiturn_reasoning", "tool_call_missing_behavior"} {
		if o := f.Get(name); o.IsSet() && o.Text() != "false" && o.Text() != "error_stop" {
			o.KnownToTool(name)
		}
	}
	f.Close()
}

// routeOf picks the path of one request type out of api_routes, whose keys are request types in any spelling.
func routeOf(v tool.Value, kind string) tool.Value {
	route := v.At(nil, "")
	for _, e := range v.Fields().Entries {
		if word, _ := tool.APIType(e.Key); word == kind {
			route = e.Value
		}
	}
	return route
}

func readExtras(d *tool.Draft, v tool.Value) {
	f := v.Typed().Fields()
	d.AddHeaders(f.Get("headers"))
	d.AddQuery(f.Get("params"))
	for _, e := range f.Get("body").Fields().Entries {
		d.SetBody(e.Key, e.Value.Any())
	}
	f.Close()
}

package load

import "bflow.dev/bflow/runplan"

func (t *translator) guideBackend(v value) {
	f := v.typed().fields()
	switch f.get("kind", "type").word("openai_http", "openai_websocket", "vllm_python", "vllm_python_async", "vllm_python_batch") {
	case "openai_http":
	default:
		f.at.needsTool("backend kind %q", f.get("kind").text())
		f.toolOnly("vllm_config", "image_placeholder", "audio_placeholder", "batch_size", "batch_timeout", "chunk_samples")
	}
	kind := f.get("request_format", "request_type").requestType(runplan.APIChat)
	if t.over.requestType.set() {
		kind = t.over.kind()
	}
	t.m.API.Stream = f.get("stream").booleanOr(true)
	t.setAPI(kind, guideRoute(f.get("api_routes"), kind).text())
	t.apiKey(f.get("api_key"), f.get("api_key").text())
	t.m.API.VerifyTLS = f.get("verify").booleanOr(true)
	if d := f.get("timeout"); d.set() {
		t.m.API.Timeout = d.positiveSeconds()
	}
	t.m.API.ConnectTimeout = f.get("timeout_connect").positiveSeconds()
	t.m.API.HTTP2 = f.get("http2").boolean()
	t.guideExtras(f.get("extras"))
	if n := f.get("max_tokens"); n.set() {
		t.body("max_tokens", n.integer(1))
	}
	f.noted("has no effect here: an answer that redirects is an error", "follow_redirects")
	f.noted("has no effect here: the smoke test asks the server first", "validate_backend")
	f.noted(setByRunner, "target", "model")
	for _, name := range []string{"server_history", "multiturn_reasoning", "tool_call_missing_behavior"} {
		if o := f.get(name); o.set() && o.text() != "false" && o.text() != "error_stop" {
			o.needsTool("%q is known to the real tool only", name)
		}
	}
	f.close()
}

// guideRoute picks the path of one request type out of api_routes, whose keys are request types in any spelling.
func guideRoute(v value, kind string) value {
	route := value{findings: v.findings}
	for _, e := range v.fields().entries {
		if word, _ := APIType(e.key); word == kind {
			route = e.value
		}
	}
	return route
}

func (t *translator) guideExtras(v value) {
	f := v.typed().fields()
	t.headers(f.get("headers"))
	t.query(f.get("params"))
	for _, e := range f.get("body").fields().entries {
		t.body(e.key, e.value.any())
	}
	f.close()
}

func (t *translator) body(key string, x any) {
	if t.m.API.Body == nil {
		t.m.API.Body = map[string]any{}
	}
	t.m.API.Body[key] = x
}

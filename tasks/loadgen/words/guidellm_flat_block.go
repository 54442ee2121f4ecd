package words

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load"
)

// flatBlock writes what was said as a block of the newest words.
func (p *parser) flatBlock(in *flatInput) {
	p.block = mapping()
	p.flatServer(in)
	p.flatLoad(in)
	p.flatBounds(in)
	p.flatData(in)
	p.flatSeed(in)
	p.flatRest(in)
	p.flatOutputs(in)
	in.set.load(p, "512")
	p.flatSettings(in)
	if in.gen != "0.3" {
		p.unverified()
	}
}

func (p *parser) flatServer(in *flatInput) {
	if g, ok := in.words["target"]; ok {
		p.endpoint(g.word, in.text("target"))
	}
	p.req.Model = in.text("model")
	p.oldBackend(in)
	if g, ok := in.first("request_format", "request_type"); ok {
		put(p.block, g.value, "backend", "request_format")
	} else if in.gen == "0.3" {
		put(p.block, p.text("GUIDELLM 0.3", "text_completions"), "backend", "request_format")
	}
	if at(p.block, "backend", "timeout") == nil {
		put(p.block, p.text("the default of GuideLLM", "300"), "backend", "timeout")
	}
}

// oldBackend reads kind and arguments of the backend.
func (p *parser) oldBackend(in *flatInput) {
	if g, ok := in.first("backend", "backend_type"); ok && g.value.Value != "openai_http" {
		p.only(g.word, "GuideLLM")
	}
	g, ok := in.first("backend_kwargs", "backend_args")
	if !ok {
		return
	}
	args := g.value
	if args.Kind == yaml.ScalarNode {
		args = p.json(g.word, args.Value)
	}
	if args == nil {
		return
	}
	if args.Kind != yaml.MappingNode {
		p.errorf(g.word, "want JSON such as {\"timeout\": 60}")
		return
	}
	keys(args, func(key, value *yaml.Node) { p.backendArgument(in, g.word, key.Value, value) })
}

func (p *parser) backendArgument(in *flatInput, word, key string, value *yaml.Node) {
	if isNull(value) {
		return
	}
	switch key {
	case "api_key":
		p.req.Key = Key(value.Value)
	case "organization":
		put(p.block, value, "backend", "extras", "headers", "OpenAI-Organization")
	case "project":
		put(p.block, value, "backend", "extras", "headers", "OpenAI-Project")
	case "timeout", "http2", "follow_redirects", "verify", "stream", "validate_backend", "timeout_connect":
		put(p.block, value, "backend", key)
	case "max_output_tokens", "max_tokens":
		p.maxTokens(in, value)
	case "extra_query", "extra_body":
		p.perRoute(in, word, value, map[string]string{"extra_query": "params", "extra_body": "body"}[key])
	case "extras":
		put(p.block, value, "backend", "extras")
	case "headers":
		keys(value, func(k, v *yaml.Node) {
			if !isNull(v) { // null removes a header that is not there
				put(p.block, v, "backend", "extras", "headers", k.Value)
			}
		})
	case "target", "model":
		if key == "target" && p.req.Endpoint == "" {
			p.endpoint(word, value.Value)
		}
	case "remove_from_body", "api_routes", "text_completions_path", "chat_completions_path", "models_path", "multimodal":
		p.only(word+" "+key, "GuideLLM")
	default:
		p.unknown(key, []string{
			"api_key", "organization", "project", "timeout", "http2", "follow_redirects", "max_output_tokens", "extra_query", "extra_body",
			"remove_from_body", "headers", "verify", "stream",
		})
	}
}

// maxTokens bounds answers of no given length; where the data gives one, the tool asks for that.
func (p *parser) maxTokens(in *flatInput, value *yaml.Node) {
	p.after = append(p.after, func() {
		if n, err := scalar.Int(value); err == nil && p.req.Measure.Data.Output == nil {
			if p.req.Measure.API.Body == nil {
				p.req.Measure.API.Body = map[string]any{}
			}
			p.req.Measure.API.Body["max_tokens"] = n
		}
	})
}

// perRoute reads settings that may be kept per endpoint.
func (p *parser) perRoute(in *flatInput, word string, value *yaml.Node, to string) {
	if value.Kind != yaml.MappingNode {
		p.errorf(word, "want a map for extra_%s", to)
		return
	}
	asked := "chat_completions"
	if g, ok := in.first("request_format", "request_type"); ok {
		asked = g.value.Value
	} else if in.gen == "0.3" {
		asked = "text_completions"
	}
	kind, _ := load.APIType(asked)
	keys(value, func(k, v *yaml.Node) {
		switch of, isType := load.APIType(k.Value); {
		case v.Kind != yaml.MappingNode || !isType && k.Value != "models":
			put(p.block, v, "backend", "extras", to, k.Value)
		case of == kind:
			keys(v, func(k, v *yaml.Node) { put(p.block, v, "backend", "extras", to, k.Value) })
		}
	})
}

// flatLoad reads profile and rates.
func (p *parser) flatLoad(in *flatInput) {
	kind := "sweep"
	if g, ok := in.first("profile", "rate_type"); ok {
		kind = g.value.Value
		put(p.block, g.value, "profile", "kind")
	} else {
		if in.gen == "0.3" {
			p.missing("no --rate-type is named: want synchronous, concurrent, throughput, constant, poisson or sweep")
		}
		put(p.block, p.text("the default of GuideLLM", kind), "profile", "kind")
	}
	if g, ok := in.words["rate"]; ok {
		p.flatRate(in, kind, g)
	}
	for _, name := range []string{"warmup", "cooldown"} {
		if g, ok := in.words[name+"_percent"]; ok {
			put(p.block, g.value, "profile", name, "percent")
		}
		if g, ok := in.words[name]; ok {
			put(p.block, p.structured(g), "profile", name)
		}
	}
	if g, ok := in.words["rampup"]; ok {
		put(p.block, g.value, "profile", "rampup_duration")
	}
}

// structured is a value that may be JSON in a text.
func (p *parser) structured(g given) *yaml.Node {
	if g.value.Kind != yaml.ScalarNode {
		return g.value
	}
	return p.json(g.word, g.value.Value)
}

func (p *parser) flatRate(in *flatInput, kind string, g given) {
	field, ok := map[string]string{
		"concurrent": "streams", "sweep": "sweep_size", "constant": "rate", "async": "rate", "poisson": "rate", "throughput": "max_concurrency",
	}[kind]
	switch {
	case !ok && kind == "synchronous":
		p.errorf(g.word, "profile synchronous takes no rate: remove it")
	case kind == "throughput" && in.gen == "0.3":
		p.errorf(g.word, "profile throughput takes no rate: remove it")
	case ok:
		value := g.value
		if value.Kind == yaml.SequenceNode {
			value = p.text(g.word, strings.Join(texts(value), ","))
		}
		put(p.block, value, "profile", field)
	}
}

// flatBounds reads what ends a load value.
func (p *parser) flatBounds(in *flatInput) {
	var all []*yaml.Node
	for _, c := range []struct{ word, kind, field string }{
		{"max_seconds", "max_duration", "seconds"}, {"max_requests", "max_requests", "count"}, {"max_errors", "max_errors", "count"},
		{"max_error_rate", "max_error_rate", "rate"}, {"max_global_error_rate", "max_global_error_rate", "rate"},
	} {
		g, ok := in.words[c.word]
		if !ok {
			continue
		}
		n := mapping()
		n.Line = g.value.Line
		set(n, "kind", p.text(g.word, c.kind))
		set(n, c.field, p.structured(g))
		all = append(all, n)
	}
	if g, ok := in.words["over_saturation"]; ok {
		if n := p.saturation(g); n != nil {
			all = append(all, n)
		}
	}
	if len(all) > 0 {
		put(p.block, list(all...), "constraints")
	}
}

// saturation reads a truth value, or settings of the detector; enabled says whether it stops the run.
func (p *parser) saturation(g given) *yaml.Node {
	value := p.structured(g)
	if value == nil {
		return nil
	}
	if value.Kind == yaml.ScalarNode {
		switch on, err := scalar.Bool(value); {
		case scalar.Blank(value) || err == nil && !on:
			return nil
		case err == nil:
			value = mapping()
		default:
			value = load.Mapping(value)
		}
	}
	if value == nil {
		p.errorf(g.word, "want true, false or settings such as {\"min_seconds\": 30}")
		return nil
	}
	if isOff(take(value, "enabled")) {
		put(value, p.text(g.word, "monitor"), "mode")
	}
	value.Line = g.value.Line
	put(value, p.text(g.word, "over_saturation"), "kind")
	return value
}

// isOff reports whether a value is a word for false. A switch with any other value is on.
func isOff(n *yaml.Node) bool {
	on, err := scalar.Bool(n)
	return err == nil && !on
}

func (p *parser) flatSeed(in *flatInput) {
	if g, ok := in.words["random_seed"]; ok {
		seed := mapping()
		set(seed, "kind", p.text(g.word, "static"))
		set(seed, "value", g.value)
		put(p.block, seed, "seed")
	}
}

// flatRest takes words that change nothing, and those that only the tool follows.
func (p *parser) flatRest(in *flatInput) {
	for _, name := range []string{"processor", "processor_args"} {
		if g, ok := in.words[name]; ok {
			p.warnf(g.word, "has no effect here: tokens are counted by the server")
		}
	}
	for _, name := range []string{"data_num_workers", "data_collator", "prefer_response_metrics"} {
		if g, ok := in.words[name]; ok {
			p.warnf(g.word, "has no effect here")
		}
	}
	for _, name := range []string{"dataloader_kwargs", "data_preprocessors", "data_preprocessors_kwargs", "data_finalizer", "data_request_formatter", "request_formatter_kwargs"} {
		if g, ok := in.words[name]; ok && !slices.Contains([]string{"", "{}", "[]", "generative", "encode_media", "null"}, g.value.Value) {
			p.only(g.word, "GuideLLM")
		}
	}
	for _, name := range []string{"disable_progress", "disable_console", "disable_console_outputs", "disable_console_interactive"} {
		if v := scalar.Node(in.text(name)); !scalar.Blank(v) && !isOff(v) {
			p.req.Quiet = true
		}
	}
}

// flatSettings honours the settings of up to 0.5, which are weaker than words.
func (p *parser) flatSettings(in *flatInput) {
	if !p.before(in.gen, in.set) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(in.set.values)) {
		word, value := settingsPrefix+name, in.set.values[name]
		weak := func(path ...string) {
			if at(p.block, path...) == nil || name == "REQUEST_TIMEOUT" && p.word(at(p.block, path...).Line) == "the default of GuideLLM" {
				put(p.block, p.text(word, value), path...)
			}
		}
		switch name {
		case "REQUEST_TIMEOUT":
			weak("backend", "timeout")
		case "REQUEST_HTTP2":
			weak("backend", "http2")
		case "REQUEST_FOLLOW_REDIRECTS":
			weak("backend", "follow_redirects")
		case "OPENAI__VERIFY":
			weak("backend", "verify")
		case "PREFERRED_ROUTE":
			if at(p.block, "backend", "request_format") == nil || in.gen == "0.3" {
				put(p.block, p.text(word, value), "backend", "request_format")
			}
		case "OPENAI__ORGANIZATION":
			weak("backend", "extras", "headers", "OpenAI-Organization")
		case "OPENAI__PROJECT":
			weak("backend", "extras", "headers", "OpenAI-Project")
		case "OPENAI__HEADERS":
			keys(p.json(word, value), func(k, v *yaml.Node) {
				if at(p.block, "backend", "extras", "headers", k.Value) == nil && !isNull(v) {
					put(p.block, v, "backend", "extras", "headers", k.Value)
				}
			})
		case "OPENAI__MAX_OUTPUT_TOKENS":
			p.maxTokens(in, p.text(word, value))
		case "OPENAI__BASE_URL":
			if p.req.Endpoint == "" {
				p.endpoint(word, value)
			}
		case "OPENAI__API_KEY", "OPENAI__BEARER_TOKEN":
			if p.req.Key == "" {
				p.req.Key = Key(strings.TrimPrefix(value, "Bearer "))
			}
		}
	}
}

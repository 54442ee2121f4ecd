package guidellm

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/tree"
)

// buildFlatBlock writes what was said as a block of the newest words.
func buildFlatBlock(c *tool.CommandLine, in *flatInput) {
	c.Block = tree.Mapping()
	putServer(c, in)
	putLoad(c, in)
	putBounds(c, in)
	putData(c, in)
	putSeed(c, in)
	takeRest(c, in)
	addFlatOutputs(c, in)
	in.set.pass(c, "512")
	putSettings(c, in)
	if in.gen != "0.3" {
		skipVerification(c)
	}
}

func putServer(c *tool.CommandLine, in *flatInput) {
	if g, ok := in.words["target"]; ok {
		c.SetEndpoint(g.word, in.text("target"))
	}
	c.Request.Model = in.text("model")
	putBackend(c, in)
	if g, ok := in.first("request_format", "request_type"); ok {
		c.Put(g.value, "backend", "request_format")
	} else if in.gen == "0.3" {
		c.PutText("GUIDELLM 0.3", "text_completions", "backend", "request_format")
	}
	if c.At("backend", "timeout") == nil {
		c.PutText("the default of GuideLLM", "300", "backend", "timeout")
	}
}

// putBackend reads kind and arguments of the backend.
func putBackend(c *tool.CommandLine, in *flatInput) {
	if g, ok := in.first("backend", "backend_type"); ok && g.value.Value != "openai_http" {
		c.ToolOnly(g.word, "GuideLLM")
	}
	g, ok := in.first("backend_kwargs", "backend_args")
	if !ok {
		return
	}
	args := g.value
	if args.Kind == yaml.ScalarNode {
		args = c.JSON(g.word, args.Value)
	}
	if args == nil {
		return
	}
	if args.Kind != yaml.MappingNode {
		c.Errorf(g.word, "want JSON such as {\"timeout\": 60}")
		return
	}
	tree.Keys(args, func(key, value *yaml.Node) { putBackendArgument(c, in, g.word, key.Value, value) })
}

func putBackendArgument(c *tool.CommandLine, in *flatInput, word, key string, value *yaml.Node) {
	if tree.IsNull(value) {
		return
	}
	switch key {
	case "api_key":
		c.Request.Key = tool.Key(value.Value)
	case "organization":
		c.Put(value, "backend", "extras", "headers", "OpenAI-Organization")
	case "project":
		c.Put(value, "backend", "extras", "headers", "OpenAI-Project")
	case "timeout", "http2", "follow_redirects", "verify", "stream", "validate_backend", "timeout_connect":
		c.Put(value, "backend", key)
	case "max_output_tokens", "max_tokens":
		boundAnswers(c, value)
	case "extra_query", "extra_body":
		putPerRoute(c, in, word, value, map[string]string{"extra_query": "params", "extra_body": "body"}[key])
	case "extras":
		c.Put(value, "backend", "extras")
	case "headers":
		tree.Keys(value, func(k, v *yaml.Node) {
			if !tree.IsNull(v) { // null removes a header that is not there
				c.Put(v, "backend", "extras", "headers", k.Value)
			}
		})
	case "target", "model":
		if key == "target" && c.Request.Endpoint == "" {
			c.SetEndpoint(word, value.Value)
		}
	case "remove_from_body", "api_routes", "text_completions_path", "chat_completions_path", "models_path", "multimodal":
		c.ToolOnly(word+" "+key, "GuideLLM")
	default:
		c.Unknown(key, []string{
			"api_key", "organization", "project", "timeout", "http2", "follow_redirects", "max_output_tokens", "extra_query",
			"extra_body", "remove_from_body", "headers", "verify", "stream",
		})
	}
}

// boundAnswers bounds answers of no given length; where the data gives one, the tool asks for that.
func boundAnswers(c *tool.CommandLine, value *yaml.Node) {
	c.Then(func() {
		if n, err := scalar.Int(value); err == nil && c.Request.Measure.Data.Output == nil {
			if c.Request.Measure.API.Body == nil {
				c.Request.Measure.API.Body = map[string]any{}
			}
			c.Request.Measure.API.Body["max_tokens"] = n
		}
	})
}

// putPerRoute reads settings that may be kept per endpoint.
func putPerRoute(c *tool.CommandLine, in *flatInput, word string, value *yaml.Node, to string) {
	if value.Kind != yaml.MappingNode {
		c.Errorf(word, "want a map for extra_%s", to)
		return
	}
	asked := "chat_completions"
	if g, ok := in.first("request_format", "request_type"); ok {
		asked = g.value.Value
	} else if in.gen == "0.3" {
		asked = "text_completions"
	}
	kind, _ := tool.APIType(asked)
	tree.Keys(value, func(k, v *yaml.Node) {
		switch of, isType := tool.APIType(k.Value); {
		case v.Kind != yaml.MappingNode || !isType && k.Value != "models":
			c.Put(v, "backend", "extras", to, k.Value)
		case of == kind:
			tree.Keys(v, func(k, v *yaml.Node) { c.Put(v, "backend", "extras", to, k.Value) })
		}
	})
}

// putLoad reads profile and rates.
func putLoad(c *tool.CommandLine, in *flatInput) {
	kind := "sweep"
	if g, ok := in.first("profile", "rate_type"); ok {
		kind = g.value.Value
		c.Put(g.value, "profile", "kind")
	} else {
		if in.gen == "0.3" {
			c.Missing("no --rate-type is named: want synchronous, concurrent, throughput, constant, poisson or sweep")
		}
		c.PutText("the default of GuideLLM", kind, "profile", "kind")
	}
	if g, ok := in.words["rate"]; ok {
		putRate(c, in, kind, g)
	}
	for _, name := range []string{"warmup", "cooldown"} {
		if g, ok := in.words[name+"_percent"]; ok {
			c.Put(g.value, "profile", name, "percent")
		}
		if g, ok := in.words[name]; ok {
			c.Put(readStructured(c, g), "profile", name)
		}
	}
	if g, ok := in.words["rampup"]; ok {
		c.Put(g.value, "profile", "rampup_duration")
	}
}

// readStructured is a value that may be JSON in a text.
func readStructured(c *tool.CommandLine, g given) *yaml.Node {
	if g.value.Kind != yaml.ScalarNode {
		return g.value
	}
	return c.JSON(g.word, g.value.Value)
}

func putRate(c *tool.CommandLine, in *flatInput, kind string, g given) {
	field, ok := map[string]string{
		"concurrent": "streams", "sweep": "sweep_size", "constant": "rate", "async": "rate", "poisson": "rate",
		"throughput": "max_concurrency",
	}[kind]
	switch {
	case !ok && kind == "synchronous":
		c.Errorf(g.word, "profile synchronous takes no rate: remove it")
	case kind == "throughput" && in.gen == "0.3":
		c.Errorf(g.word, "profile throughput takes no rate: remove it")
	case ok:
		value := g.value
		if value.Kind == yaml.SequenceNode {
			value = c.Text(g.word, strings.Join(tree.Texts(value), ","))
		}
		c.Put(value, "profile", field)
	}
}

// putBounds reads what ends a load value.
func putBounds(c *tool.CommandLine, in *flatInput) {
	var all []*yaml.Node
	for _, b := range []struct{ word, kind, field string }{
		{"max_seconds", "max_duration", "seconds"}, {"max_requests", "max_requests", "count"},
		{"max_errors", "max_errors", "count"}, {"max_error_rate", "max_error_rate", "rate"},
		{"max_global_error_rate", "max_global_error_rate", "rate"},
	} {
		g, ok := in.words[b.word]
		if !ok {
			continue
		}
		value := readStructured(c, g)
		if value == nil { // what it holds is no JSON, which is reported
			c.GiveUp()
			continue
		}
		n := tree.Mapping()
		n.Line = g.value.Line
		tree.Set(n, "kind", c.Text(g.word, b.kind))
		tree.Set(n, b.field, value)
		all = append(all, n)
	}
	if g, ok := in.words["over_saturation"]; ok {
		if n := readSaturation(c, g); n != nil {
			all = append(all, n)
		}
	}
	if len(all) > 0 {
		c.Put(tree.List(all...), "constraints")
	}
}

// readSaturation reads a truth value, or settings of the detector; enabled says whether it stops the run.
func readSaturation(c *tool.CommandLine, g given) *yaml.Node {
	value := readStructured(c, g)
	if value == nil {
		return nil
	}
	if value.Kind == yaml.ScalarNode {
		switch on, err := scalar.Bool(value); {
		case scalar.Blank(value) || err == nil && !on:
			return nil
		case err == nil:
			value = tree.Mapping()
		default:
			value = tool.Mapping(value)
		}
	}
	if value == nil {
		c.Errorf(g.word, "want true, false or settings such as {\"min_seconds\": 30}")
		return nil
	}
	if tool.IsOff(tree.Take(value, "enabled")) {
		tree.Put(value, c.Text(g.word, "monitor"), "mode")
	}
	value.Line = g.value.Line
	tree.Put(value, c.Text(g.word, "over_saturation"), "kind")
	return value
}

func putSeed(c *tool.CommandLine, in *flatInput) {
	if g, ok := in.words["random_seed"]; ok {
		seed := tree.Mapping()
		tree.Set(seed, "kind", c.Text(g.word, "static"))
		tree.Set(seed, "value", g.value)
		c.Put(seed, "seed")
	}
}

// takeRest takes words that change nothing, and those that only the tool follows.
func takeRest(c *tool.CommandLine, in *flatInput) {
	for _, name := range []string{"processor", "processor_args"} {
		if g, ok := in.words[name]; ok {
			c.Warnf(g.word, "has no effect here: tokens are counted by the server")
		}
	}
	for _, name := range []string{"data_num_workers", "data_collator", "prefer_response_metrics"} {
		if g, ok := in.words[name]; ok {
			c.Warnf(g.word, "has no effect here")
		}
	}
	for _, name := range []string{"dataloader_kwargs", "data_preprocessors", "data_preprocessors_kwargs", "data_finalizer",
		"data_request_formatter", "request_formatter_kwargs"} {
		if g, ok := in.words[name]; ok && !slices.Contains([]string{"", "{}", "[]", "generative", "encode_media", "null"},
			g.value.Value) {
			c.ToolOnly(g.word, "GuideLLM")
		}
	}
	for _, name := range []string{"disable_progress", "disable_console", "disable_console_outputs",
		"disable_console_interactive"} {
		if v := scalar.Node(in.text(name)); !scalar.Blank(v) && !tool.IsOff(v) {
			c.Request.Quiet = true
		}
	}
}

// putSettings honours the settings of up to 0.5, which are weaker than words.
func putSettings(c *tool.CommandLine, in *flatInput) {
	if !settingsCount(c, in.gen, in.set) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(in.set.values)) {
		word, value := settingsPrefix+name, in.set.values[name]
		weak := func(path ...string) {
			have := c.At(path...)
			if have == nil || name == "REQUEST_TIMEOUT" && c.Word(have.Line) == "the default of GuideLLM" {
				c.PutText(word, value, path...)
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
			if c.At("backend", "request_format") == nil || in.gen == "0.3" {
				c.PutText(word, value, "backend", "request_format")
			}
		case "OPENAI__ORGANIZATION":
			weak("backend", "extras", "headers", "OpenAI-Organization")
		case "OPENAI__PROJECT":
			weak("backend", "extras", "headers", "OpenAI-Project")
		case "OPENAI__HEADERS":
			tree.Keys(c.JSON(word, value), func(k, v *yaml.Node) {
				if c.At("backend", "extras", "headers", k.Value) == nil && !tree.IsNull(v) {
					c.Put(v, "backend", "extras", "headers", k.Value)
				}
			})
		case "OPENAI__MAX_OUTPUT_TOKENS":
			boundAnswers(c, c.Text(word, value))
		case "OPENAI__BASE_URL":
			if c.Request.Endpoint == "" {
				c.SetEndpoint(word, value)
			}
		case "OPENAI__API_KEY", "OPENAI__BEARER_TOKEN":
			if c.Request.Key == "" {
				c.Request.Key = tool.Key(strings.TrimPrefix(value, "Bearer "))
			}
		}
	}
}

package words

import (
	"net"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load"
)

// vllmFlags are the flags of `vllm bench serve` with the number of their values.
func vllmFlags() map[string]arity {
	flags := map[string]arity{}
	for _, name := range []string{
		"backend", "endpoint-type", "endpoint", "base-url", "host", "port", "model", "served-model-name", "request-rate", "burstiness",
		"max-concurrency", "num-prompts", "num-warmups", "seed", "ready-check-timeout-sec", "ramp-up-strategy", "ramp-up-start-rps",
		"ramp-up-end-rps", "dataset-name", "dataset-path", "random-input-len", "random-output-len", "random-range-ratio", "random-prefix-len",
		"random-batch-size", "input-len", "output-len", "prefix-repetition-prefix-len", "prefix-repetition-suffix-len",
		"prefix-repetition-num-prefixes", "prefix-repetition-output-len", "sharegpt-output-len", "custom-output-len", "sonnet-input-len",
		"sonnet-output-len", "sonnet-prefix-len", "hf-name", "hf-split", "hf-subset", "hf-output-len", "temperature", "top-p", "top-k", "min-p",
		"presence-penalty", "frequency-penalty", "repetition-penalty", "extra-body", "logprobs", "lora-assignment", "percentile-metrics",
		"metric-percentiles", "result-dir", "result-filename", "label", "probe-request-rate", "tokenizer", "tokenizer-mode",
		"chat-template-kwargs", "request-id-prefix", "timeline-itl-thresholds",
	} {
		flags[name] = one
	}
	for _, name := range []string{"header", "goodput", "metadata", "lora-modules"} {
		flags[name] = some
	}
	for _, name := range []string{
		"insecure", "save-result", "save-detailed", "append-result", "ignore-eos", "disable-tqdm", "trust-remote-code", "profile",
		"skip-tokenizer-init", "plot-timeline", "plot-dataset-stats", "self-timed", "no-oversample", "disable-shuffle", "use-beam-search",
		"skip-chat-template", "custom-skip-chat-template",
	} {
		flags[name] = none
	}
	return flags
}

// vllmOwn are flags that are ours to follow, not the translation's.
func vllmOwn() []string {
	return []string{
		"base-url", "host", "port", "model", "served-model-name", "save-result", "save-detailed", "append-result", "result-dir",
		"result-filename", "percentile-metrics", "metric-percentiles", "disable-tqdm",
	}
}

func (p *parser) vllmBench(tool string, args []string) {
	p.req.Tool = tool
	table := vllmFlags()
	if tool == load.InferenceMAX {
		table["use-chat-template"], table["best-of"] = none, one
	}
	var known []string
	for name := range table {
		known = append(known, "--"+name)
	}
	slices.Sort(known)
	takes := func(name string) (arity, bool) {
		n, ok := table[name]
		return n, ok
	}
	flags := p.readFlags(args, takes, func(word string) { p.unknown(word, known) })
	p.block = mapping()
	for _, f := range flags {
		switch {
		case slices.Contains(vllmOwn(), f.name) || len(f.values) == 0:
		case table[f.name] == some && f.name != "goodput":
			items := list()
			items.Line = p.origin(f.word)
			for _, v := range f.values {
				items.Content = append(items.Content, p.text(f.word, v))
			}
			put(p.block, items, f.name)
		case f.name == "goodput":
			put(p.block, p.text(f.word, strings.Join(f.values, " ")), f.name)
		default:
			put(p.block, p.json(f.word, f.values[len(f.values)-1]), f.name)
		}
	}
	p.vllmServer(flags)
	p.vllmOutputs(flags)
}

func (p *parser) vllmServer(flags []flagged) {
	p.req.Key = Key(p.env["OPENAI_API_KEY"])
	for _, name := range []string{"model", "served-model-name"} {
		if v, _, ok := last(flags, name); ok {
			p.req.Model = v
		}
	}
	if v, word, ok := last(flags, "base-url"); ok {
		p.endpoint(word, v)
		return
	}
	host, port := "127.0.0.1", "8000"
	if v, _, ok := last(flags, "host"); ok {
		host = v
	}
	if v, _, ok := last(flags, "port"); ok {
		port = v
	}
	p.endpoint("--host", "http://"+net.JoinHostPort(host, port))
}

func (p *parser) vllmOutputs(flags []flagged) {
	on := func(name string) bool {
		v, _, ok := last(flags, name)
		return ok && !isOff(scalar.Node(v))
	}
	if on("disable-tqdm") {
		p.req.Quiet = true
	}
	if !on("save-result") && !on("append-result") {
		return
	}
	o := Output{Format: FormatVLLMBench, Append: on("append-result"), Detailed: on("save-detailed"), Path: "."}
	if o.Detailed {
		o.Format = FormatVLLMDetailed
	}
	if dir, _, ok := last(flags, "result-dir"); ok {
		o.Path = dir
	}
	if name, _, ok := last(flags, "result-filename"); ok {
		o.Path = strings.TrimSuffix(o.Path, "/") + "/" + name
	} else {
		o.Folder = true // the name holds rate, model and time
	}
	if v, _, ok := last(flags, "percentile-metrics"); ok {
		for m := range strings.SplitSeq(v, ",") {
			o.Metrics = append(o.Metrics, strings.TrimSpace(m))
		}
	}
	if v, word, ok := last(flags, "metric-percentiles"); ok {
		for s := range strings.SplitSeq(v, ",") {
			x, err := percentile(scalar.Node(s))
			if err != nil {
				p.errorf(word, "%v", err)
				continue
			}
			o.Percentiles = append(o.Percentiles, x)
		}
	}
	p.req.Outputs = append(p.req.Outputs, o)
}

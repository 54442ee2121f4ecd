package vllmbench

import (
	"net"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/tree"
)

// flags are the flags of `vllm bench serve`, a table of package tool.
const flags = `
	backend endpoint-type endpoint base-url host port model served-model-name request-rate burstiness max-concurrency
	num-prompts num-warmups seed ready-check-timeout-sec ramp-up-strategy ramp-up-start-rps ramp-up-end-rps dataset-name
	dataset-path random-input-len random-output-len random-range-ratio random-prefix-len random-batch-size input-len
	output-len prefix-repetition-prefix-len prefix-repetition-suffix-len prefix-repetition-num-prefixes
	prefix-repetition-output-len sharegpt-output-len custom-output-len sonnet-input-len sonnet-output-len
	sonnet-prefix-len hf-name hf-split hf-subset hf-output-len temperature top-p top-k min-p presence-penalty
	frequency-penalty repetition-penalty extra-body logprobs lora-assignment percentile-metrics metric-percentiles
	result-dir result-filename label probe-request-rate tokenizer tokenizer-mode chat-template-kwargs request-id-prefix
	timeline-itl-thresholds header+ goodput+ metadata+ lora-modules+ insecure! save-result! save-detailed!
	append-result! ignore-eos! disable-tqdm! trust-remote-code! profile! skip-tokenizer-init! plot-timeline!
	plot-dataset-stats! self-timed! no-oversample! disable-shuffle! use-beam-search! skip-chat-template!
	custom-skip-chat-template!
`

// own are flags that are ours to follow, not the translation's.
func own() []string {
	return []string{
		"base-url", "host", "port", "model", "served-model-name", "save-result", "save-detailed", "append-result",
		"result-dir", "result-filename", "percentile-metrics", "metric-percentiles", "disable-tqdm",
	}
}

// parse writes the flags of a table into the block.
func parse(c *tool.CommandLine, flags string, args []string) {
	table := tool.Arities(flags)
	given := c.ReadTable(args, table)
	c.Block = tree.Mapping()
	for _, f := range given {
		switch {
		case slices.Contains(own(), f.Name):
		case table[f.Name] == tool.Some && f.Name != "goodput":
			c.Put(tree.List(c.Texts(f.Word, f.Values)...), f.Name)
		case f.Name == "goodput":
			c.PutText(f.Word, strings.Join(f.Values, " "), f.Name)
		default:
			c.Put(c.JSON(f.Word, f.Values[len(f.Values)-1]), f.Name)
		}
	}
	parseServer(c, given)
	parseOutputs(c, given)
}

func parseServer(c *tool.CommandLine, flags []tool.Flag) {
	c.Request.Key = tool.Key(c.Env["OPENAI_API_KEY"])
	for _, name := range []string{"model", "served-model-name"} {
		if v, _, ok := tool.LastFlag(flags, name); ok {
			c.Request.Model = v
		}
	}
	if v, word, ok := tool.LastFlag(flags, "base-url"); ok {
		c.SetEndpoint(word, v)
		return
	}
	host, port := "127.0.0.1", "8000"
	if v, _, ok := tool.LastFlag(flags, "host"); ok {
		host = v
	}
	if v, _, ok := tool.LastFlag(flags, "port"); ok {
		port = v
	}
	c.SetEndpoint("--host", "http://"+net.JoinHostPort(host, port))
}

func parseOutputs(c *tool.CommandLine, flags []tool.Flag) {
	on := func(name string) bool {
		v, _, ok := tool.LastFlag(flags, name)
		return ok && !tool.IsOff(scalar.Node(v))
	}
	if on("disable-tqdm") {
		c.Request.Quiet = true
	}
	if !on("save-result") && !on("append-result") {
		return
	}
	o := tool.Output{Format: Format, Append: on("append-result"), Detailed: on("save-detailed"), Path: "."}
	if o.Detailed {
		o.Format = FormatDetailed
	}
	if dir, _, ok := tool.LastFlag(flags, "result-dir"); ok {
		o.Path = dir
	}
	if name, _, ok := tool.LastFlag(flags, "result-filename"); ok {
		o.Path = strings.TrimSuffix(o.Path, "/") + "/" + name
	} else {
		o.Folder = true // the name holds rate, model and time
	}
	if v, _, ok := tool.LastFlag(flags, "percentile-metrics"); ok {
		for m := range strings.SplitSeq(v, ",") {
			o.Metrics = append(o.Metrics, strings.TrimSpace(m))
		}
	}
	if v, word, ok := tool.LastFlag(flags, "metric-percentiles"); ok {
		for s := range strings.SplitSeq(v, ",") {
			x, err := tool.Percentile(scalar.Node(s))
			if err != nil {
				c.Errorf(word, "%v", err)
				continue
			}
			o.Percentiles = append(o.Percentiles, x)
		}
	}
	c.Request.Outputs = append(c.Request.Outputs, o)
}

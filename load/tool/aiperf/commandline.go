package aiperf

import (
	"slices"
	"strings"

	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/tree"
)

// Parse reads the flags of `aiperf profile`, whose defaults are the tool's: no streaming, a chat, 550 tokens.
func (Tool) Parse(c *tool.CommandLine, args []string) {
	table := map[string]tool.KnownFlag{} // by every spelling
	for _, f := range tool.ParseTable(followed + toolOnly + atDefault + quiet) {
		for _, name := range f.Names {
			if f.Mark != "?" {
				table[strings.TrimPrefix(name, "-")] = f
			}
		}
	}
	flags := parseFlags(c, table, args)
	c.Block = tree.Mapping()
	for _, f := range flags {
		key := strings.ReplaceAll(f.Name, "-", "_")
		switch takes := table[f.Name].Takes(); {
		case slices.Contains(own(), f.Name):
		case takes == tool.Some || takes == tool.Free: // a list that is repeated grows
			c.AddToList(c.Block, f.Word, key, c.Texts(f.Word, f.Values)...)
		default:
			c.PutText(f.Word, f.Values[len(f.Values)-1], key)
		}
	}
	parseServer(c, flags)
	addDefaults(c)
	parseOutputs(c, flags)
}

// own are flags that are ours to follow, not the translation's.
func own() []string {
	return []string{"model-names", "url", "api-key", "output-artifact-dir", "profile-export-prefix", "export-level",
		"config"}
}

// parseFlags reads the flags under their first spelling; --no-flag switches one off.
func parseFlags(c *tool.CommandLine, table map[string]tool.KnownFlag, args []string) []tool.Flag {
	off := func(name string) (string, bool) {
		base, ok := strings.CutPrefix(name, "no-")
		f := table[base]
		return base, ok && f.Mark == "!" && f.Names[0] == base
	}
	var known []string
	for name := range table {
		known = append(known, "--"+name)
	}
	slices.Sort(known)
	takes := func(name string) (tool.Arity, bool) {
		if f, ok := table[name]; ok {
			return f.Takes(), ok
		}
		_, ok := off(name)
		return tool.None, ok
	}
	flags := c.ReadFlags(args, takes, func(word string) { c.Unknown(word, known) })
	for i, f := range flags {
		if one, ok := table[f.Name]; ok {
			flags[i].Name = one.Names[0]
			continue
		}
		flags[i].Name, _ = off(f.Name)
		flags[i].Values = []string{"false"}
	}
	return flags
}

func parseServer(c *tool.CommandLine, flags []tool.Flag) {
	url, word := "localhost:8000", "--url"
	for _, f := range flags {
		switch f.Name {
		case "url":
			if len(f.Values) > 1 || url != "localhost:8000" {
				c.ToolOnly(f.Word, "AIPerf")
			}
			url, word = f.Values[0], f.Word
		case "model-names":
			if c.Request.Model != "" || len(f.Values) > 1 || strings.Contains(f.Values[0], ",") {
				c.ToolOnly(f.Word, "AIPerf")
			}
			c.Request.Model = f.Values[0]
		case "config":
			c.ToolOnly(f.Word, "AIPerf")
		}
	}
	c.SetEndpoint(word, url)
	if key, _, ok := tool.LastFlag(flags, "api-key"); ok {
		c.Request.Key = tool.Key(key)
	}
	for _, name := range c.Names {
		if name == "AIPERF_HTTP_SSL_VERIFY" {
			c.Settings[name] = c.Env[name]
		}
	}
}

// addDefaults writes down what the tool does without a word.
func addDefaults(c *tool.CommandLine) {
	weak := func(value string, path ...string) {
		if c.At(path...) == nil {
			c.PutText("the default of AIPerf", value, path...)
		}
	}
	weak("false", "streaming")
	weak("chat", "endpoint_type")
	source := false
	for _, key := range []string{"input_file", "public_dataset", "prompt_input_tokens_mean"} {
		source = source || c.At(key) != nil
	}
	if !source {
		weak("550", "prompt_input_tokens_mean")
	}
	if n := c.At("input_file"); n != nil && c.At("custom_dataset_type") == nil {
		c.GiveUp()
		c.Errorf(c.Word(n.Line), "name its format: --custom-dataset-type mooncake_trace or single_turn")
	}
	if c.At("benchmark_duration") == nil {
		c.Then(func() { dropLimit(c) })
	}
}

// dropLimit drops the limit of time that the format puts where the tool has none.
func dropLimit(c *tool.CommandLine) {
	d := c.Request.Measure.Data
	for i := range c.Request.Measure.Stages {
		s := &c.Request.Measure.Stages[i]
		if s.Measure && s.Requests == 0 && d.Conversations > 0 && !d.Reuse {
			s.Requests = d.Conversations * d.Turns
		}
		if s.Measure && (s.Requests > 0 || shape.Of(s.Shape).Replays) {
			s.Duration = 0
		}
	}
}

func parseOutputs(c *tool.CommandLine, flags []tool.Flag) {
	o := tool.Output{Format: Format, Path: "artifacts", Folder: true}
	if v, _, ok := tool.LastFlag(flags, "output-artifact-dir"); ok {
		o.Path = v
	}
	if v, _, ok := tool.LastFlag(flags, "profile-export-prefix"); ok {
		o.Prefix = v
	}
	level, _, ok := tool.LastFlag(flags, "export-level")
	o.Detailed = !ok || level != "summary"
	c.Request.Outputs = append(c.Request.Outputs, o)
}

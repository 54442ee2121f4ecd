package guidellm

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/tree"
)

// flatWord is one word of GuideLLM 0.3 to 0.6: a variable GUIDELLM_NAME, a flag --name, a key of a scenario.
type flatWord struct {
	name    string
	aliases []string // flags only: the variable of an alias is dead
	takes   tool.Arity
	many    bool   // the flag may be repeated
	only    string // the generation that alone has it: 0.3, or 0.4 for those from 0.4 on
}

func flatWords() []flatWord {
	return []flatWord{
		{name: "target"}, {name: "model"}, {name: "rate", many: true}, {name: "max_seconds"}, {name: "max_requests"},
		{name: "data", many: true}, {name: "data_args", many: true}, {name: "data_sampler"},
		{name: "processor", aliases: []string{"tokenizer"}}, {name: "processor_args"}, {name: "random_seed"},
		{name: "scenario", aliases: []string{"c"}}, {name: "output_path"}, {name: "disable_progress", takes: tool.None},
		{name: "backend_type", only: "0.3"}, {name: "backend_args", only: "0.3"}, {name: "rate_type", only: "0.3"},
		{name: "warmup_percent", only: "0.3"}, {name: "cooldown_percent", only: "0.3"},
		{name: "output_extras", only: "0.3"}, {name: "output_sampling", only: "0.3"},
		{name: "display_scheduler_stats", takes: tool.None, only: "0.3"},
		{name: "disable_console_outputs", takes: tool.None, only: "0.3"}, {name: "backend", only: "0.4"},
		{name: "backend_kwargs", only: "0.4"}, {name: "profile", only: "0.4"}, {name: "warmup", only: "0.4"},
		{name: "cooldown", only: "0.4"}, {name: "rampup", only: "0.4"}, {name: "max_errors", only: "0.4"},
		{name: "max_error_rate", only: "0.4"}, {name: "max_global_error_rate", only: "0.4"},
		{name: "request_type", only: "0.4"}, {name: "request_format", only: "0.4"},
		{name: "over_saturation", aliases: []string{"detect_saturation"}, only: "0.4"}, {name: "data_samples", only: "0.4"},
		{name: "data_column_mapper", only: "0.4"}, {name: "data_num_workers", only: "0.4"},
		{name: "dataloader_kwargs", only: "0.4"}, {name: "data_preprocessors", many: true, only: "0.4"},
		{name: "data_preprocessors_kwargs", only: "0.4"}, {name: "data_finalizer", only: "0.4"},
		{name: "data_collator", only: "0.4"}, {name: "data_request_formatter", only: "0.4"},
		{name: "request_formatter_kwargs", only: "0.4"}, {name: "output_dir", only: "0.4"},
		{name: "outputs", aliases: []string{"output_formats"}, many: true, only: "0.4"},
		{name: "sample_requests", only: "0.4"}, {name: "prefer_response_metrics", only: "0.4"},
		{name: "disable_console", takes: tool.None, only: "0.4"},
		{name: "disable_console_interactive", takes: tool.None, only: "0.4"},
	}
}

// given is a word with its value and where it stands.
type given struct {
	value *yaml.Node
	word  string
	flag  bool
}

// flatInput is everything that was said in flat words.
type flatInput struct {
	words map[string]given
	gen   string
	set   settings
}

func (in *flatInput) text(name string) string {
	if g, ok := in.words[name]; ok && g.value.Kind == yaml.ScalarNode {
		return strings.TrimSpace(g.value.Value)
	}
	return ""
}

// first is the first of names that was said.
func (in *flatInput) first(names ...string) (given, bool) {
	for _, name := range names {
		if g, ok := in.words[name]; ok {
			return g, true
		}
	}
	return given{}, false
}

// parseFlat reads the words of 0.3 to 0.6.
func parseFlat(c *tool.CommandLine, args []string, set settings) {
	in := &flatInput{words: map[string]given{}, set: set}
	readVariables(c, in)
	flags := readFlatFlags(c, args)
	scenario := in.words["scenario"]
	if value, word, ok := tool.LastFlag(flags, "scenario"); ok {
		scenario = given{value: c.Text(word, value), word: word}
	}
	delete(in.words, "scenario")
	if scenario.value != nil && readScenario(c, in, scenario, args, set) {
		return
	}
	for _, f := range flags {
		addFlag(c, in, f)
	}
	in.gen = tellGeneration(c, in)
	c.Request.Generation = in.gen
	buildFlatBlock(c, in)
}

// readVariables reads GUIDELLM_NAME.
func readVariables(c *tool.CommandLine, in *flatInput) {
	known := map[string]bool{}
	var names []string
	for _, w := range flatWords() {
		known[w.name] = true
		names = append(names, "GUIDELLM_"+strings.ToUpper(w.name))
	}
	for _, name := range c.Names {
		rest, ok := strings.CutPrefix(name, "GUIDELLM_")
		if !ok || strings.HasPrefix(rest, "_") {
			continue
		}
		word := strings.ToLower(rest)
		switch {
		case strings.TrimSpace(c.Env[name]) == "": // the tool takes an empty variable for one that is not set
		case known[word]:
			in.words[word] = given{value: c.Text(name, c.Env[name]), word: name}
		case slices.ContainsFunc(flatWords(), func(w flatWord) bool { return slices.Contains(w.aliases, word) }):
			c.Warnf(name, "has no effect: the tool has no variable for this spelling of a flag")
		default:
			c.Unknown(name, names)
		}
	}
}

// readFlatFlags reads --name; an alias gets the name of its word.
func readFlatFlags(c *tool.CommandLine, args []string) []tool.Flag {
	words := map[string]flatWord{}
	var known []string
	for _, w := range flatWords() {
		for _, name := range append([]string{w.name}, w.aliases...) {
			name = strings.ReplaceAll(name, "_", "-")
			words[name] = w
			known = append(known, "--"+name)
		}
	}
	takes := func(name string) (tool.Arity, bool) {
		w, ok := words[name]
		return w.takes, ok
	}
	flags := c.ReadFlags(args, takes, func(word string) { c.Unknown(word, known) })
	for i := range flags {
		flags[i].Name = words[flags[i].Name].name
	}
	return flags
}

// addFlag puts a flag over what was said before; repeated flags make a list.
func addFlag(c *tool.CommandLine, in *flatInput, f tool.Flag) {
	if f.Name == "scenario" {
		return
	}
	value := c.Text(f.Word, f.Values[0])
	have, twice := in.words[f.Name]
	many := slices.ContainsFunc(flatWords(), func(w flatWord) bool { return w.name == f.Name && w.many })
	if twice && have.flag && many {
		if have.value.Kind != yaml.SequenceNode {
			have.value = tree.List(have.value)
		}
		have.value.Content = append(have.value.Content, value)
		in.words[f.Name] = have
		return
	}
	in.words[f.Name] = given{value: value, word: f.Word, flag: true}
}

// tellGeneration tells the generation of the words. Where one of 0.3 is told by a variable beside words of 0.4 and
// later, it is the dead variable of an alias.
func tellGeneration(c *tool.CommandLine, in *flatInput) string {
	var old, young []string
	for _, w := range flatWords() {
		if _, ok := in.words[w.name]; ok {
			switch w.only {
			case "0.3":
				old = append(old, w.name)
			case "0.4":
				young = append(young, w.name)
			}
		}
	}
	_, formatted := in.words["request_format"]
	_, saturated := in.words["over_saturation"]
	switch {
	case len(young) == 0 && len(old) > 0:
		onlyOld := func(name string) bool {
			return name != "rate_type" && name != "backend_type" || !in.words[name].flag
		}
		if !slices.ContainsFunc(old, onlyOld) {
			c.Warnf(in.words[old[0]].word, "read as GuideLLM 0.3, which asks for completions: "+
				"say --profile and --backend for 0.4 and later")
		}
		return "0.3"
	case formatted:
		in.modernise(c, old)
		return "0.6"
	case saturated:
		in.modernise(c, old)
		return "0.5"
	}
	in.modernise(c, old)
	return "0.4"
}

// modernise reads words of 0.3 as 0.4 and later do: flags have the new meaning, variables have none.
func (in *flatInput) modernise(c *tool.CommandLine, old []string) {
	today := map[string]string{"backend_type": "backend", "backend_args": "backend_kwargs", "rate_type": "profile",
		"disable_console_outputs": "disable_console"}
	for _, name := range old {
		g := in.words[name]
		delete(in.words, name)
		now := today[name]
		switch _, have := in.words[now]; {
		case !g.flag:
			c.Warnf(g.word, "has no effect: GuideLLM 0.4 and later have no variable of this name%s", variableHint(now))
		case now == "":
			c.LeaveOut(g.word, "GuideLLM 0.4 and later have no flag of this name: remove it")
		case !have:
			in.words[now] = g
		}
	}
}

// variableHint names the variable of a word of today.
func variableHint(name string) string {
	if name == "" {
		return ""
	}
	return ", set GUIDELLM_" + strings.ToUpper(name)
}

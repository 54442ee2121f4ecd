package guidellm

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/tree"
)

// flatWord is one word of GuideLLM 0.3 to 0.6: a variable GUIDELLM_NAME, a flag --name, a key of a scenario. Its
// further spellings are flags only: the variable of an alias is dead. The flag of one marked with & may be repeated.
type flatWord struct {
	tool.KnownFlag
	only string // the generation that alone has it: 0.3, or 0.4 for those from 0.4 on
}

func flatWords() (all []flatWord) {
	for _, of := range []struct{ only, words string }{
		{"", `target model rate& max_seconds max_requests data& data_args& data_sampler processor=tokenizer
			processor_args random_seed scenario=c output_path disable_progress!`},
		{"0.3", `backend_type backend_args rate_type warmup_percent cooldown_percent output_extras output_sampling
			display_scheduler_stats! disable_console_outputs!`},
		{"0.4", `backend backend_kwargs profile warmup cooldown rampup max_errors max_error_rate max_global_error_rate
			request_type request_format over_saturation=detect_saturation data_samples data_column_mapper
			data_num_workers dataloader_kwargs data_preprocessors& data_preprocessors_kwargs data_finalizer
			data_collator data_request_formatter request_formatter_kwargs output_dir outputs=output_formats&
			sample_requests prefer_response_metrics disable_console! disable_console_interactive!`},
	} {
		for _, f := range tool.ParseTable(of.words) {
			all = append(all, flatWord{f, of.only})
		}
	}
	return all
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
		known[w.Names[0]] = true
		names = append(names, "GUIDELLM_"+strings.ToUpper(w.Names[0]))
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
		case slices.ContainsFunc(flatWords(), func(w flatWord) bool { return slices.Contains(w.Names, word) }):
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
		for _, name := range w.Names {
			name = strings.ReplaceAll(name, "_", "-")
			words[name] = w
			known = append(known, "--"+name)
		}
	}
	takes := func(name string) (tool.Arity, bool) {
		w, ok := words[name]
		return w.Takes(), ok
	}
	flags := c.ReadFlags(args, takes, func(word string) { c.Unknown(word, known) })
	for i := range flags {
		flags[i].Name = words[flags[i].Name].Names[0]
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
	many := slices.ContainsFunc(flatWords(), func(w flatWord) bool { return w.Names[0] == f.Name && w.Mark == "&" })
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
		if _, ok := in.words[w.Names[0]]; ok {
			switch w.only {
			case "0.3":
				old = append(old, w.Names[0])
			case "0.4":
				young = append(young, w.Names[0])
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

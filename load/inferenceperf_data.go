package load

import (
	"math"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
)

func (t *translator) perfData(v value) {
	t.m.Data = runplan.Data{Turns: 1, FreshPerStage: true, Seed: 42}
	f := v.fields()
	kind := f.must("type")
	input, output, shared := f.get("input_distribution"), f.get("output_distribution"), f.get("shared_prefix")
	switch kind.text() {
	case "synthetic", "random":
		t.m.Data.Input, t.m.Data.Output = perfLength(input), perfLength(output)
	case "shared_prefix":
		t.perfShared(shared)
	case "shareGPT":
		t.perfShareGPT(kind, f)
	case "":
	default:
		kind.otherKind("data of type", "synthetic", "random", "shared_prefix", "shareGPT")
	}
	if trace := f.get("trace"); trace.set() {
		t.m.Data = runplan.Data{Turns: 1, FreshPerStage: true, Seed: t.m.Data.Seed, Trace: perfTrace(trace)}
	}
	t.perfImages(f.get("multimodal"))
	f.ignore("use_chat_template")
	if path := f.get("path"); path.set() && t.m.Data.File == nil {
		path.needsTool("a data set in %q", path.text())
	}
	f.toolOnly("corpus_file_path", "otel_trace_replay", "weka_trace_replay", "conversation_replay", "visionarena", "synthetic_agentic")
	f.close()
}

// perfShareGPT reads a file of conversations; without a path the tool fetches one.
func (t *translator) perfShareGPT(kind value, f *fields) {
	path := f.get("path")
	if !path.set() {
		kind.needsTool("data of type %q without a path", kind.text())
		return
	}
	t.m.Data.File = &runplan.File{Format: runplan.FileShareGPT, URL: path.text()}
}

// perfImages reads images of one number and size; other media, and mixtures, are the tool's.
func (t *translator) perfImages(v value) {
	f := v.fields()
	f.toolOnly("video", "audio")
	if image := f.get("image"); image.set() {
		i := image.fields()
		n := perfNumber(i.get("count"), 1)
		size := i.get("resolutions")
		w, h, ok := perfSize(size)
		i.ignore("insertion_point", "representation")
		i.close()
		if !ok || n.Shape != "fixed" || t.m.API.Type != runplan.APIChat {
			image.needsTool("images of several sizes or numbers, or in a request that is no chat")
		}
		t.m.Data.Images = &runplan.Images{Count: int(n.Mean), Width: w, Height: h}
	}
	f.close()
}

// perfSize reads one resolution: a name of the tool's, or width and height.
func perfSize(v value) (width, height int, ok bool) {
	if v.is(yaml.MappingNode) {
		f := v.fields()
		width, height = f.must("width").integer(1), f.must("height").integer(1)
		f.close()
		return width, height, true
	}
	if !v.is(yaml.ScalarNode) {
		return 0, 0, false
	}
	size, known := map[string][2]int{"4k": {3840, 2160}, "1080p": {1920, 1080}, "720p": {1280, 720}, "360p": {640, 360}}[v.text()]
	if !known {
		v.errorf("%s", notOneOf(v.text(), []string{"4k", "1080p", "720p", "360p"}))
	}
	return size[0], size[1], known
}

// otherKind leaves a word that is not native to the real tool, unless it is one of the native ones misspelt.
func (v value) otherKind(what string, native ...string) {
	if near := problem.Closest(v.text(), native, 1); len(near) > 0 {
		v.errorf("unknown %s %q (did you mean %q?)", what, v.text(), near[0])
		return
	}
	v.needsTool("%s %q", what, v.text())
}

// perfShared reads groups of prompts behind one prefix each.
func (t *translator) perfShared(v value) {
	f := v.fields()
	groups := f.countOr(10, "num_groups", "num_unique_system_prompts")
	prompts := f.countOr(10, "num_prompts_per_group", "num_users_per_system_prompt")
	d := &t.m.Data
	d.Input = perfNumber(f.either("question_distribution", "question_len"), 50)
	d.Output = perfNumber(f.either("output_distribution", "output_len"), 50)
	length := f.get("system_prompt_len")
	prefix := perfNumber(length, 100)
	if prefix.Shape != "fixed" {
		length.needsTool("prefixes of different lengths")
	}
	d.Prefixes = []runplan.Prefix{{Weight: 1, Count: groups, Tokens: int(prefix.Mean)}}
	d.FreshPerStage, d.Conversations, d.Reuse = false, groups*prompts, true
	f.toolOnly("multimodal")
	if multi := f.get("enable_multi_turn_chat"); multi.boolean() {
		t.sessions = multi
	}
	if s := f.get("seed"); s.set() {
		d.Seed = s.seed()
	}
	f.close()
}

// countOr reads a whole number of at least 1.
func (f *fields) countOr(def int, names ...string) int {
	if n := f.get(names...).integer(1); n > 0 {
		return n
	}
	return def
}

// perfNumber reads a number or a distribution.
func perfNumber(v value, def int) *runplan.Length {
	switch {
	case !v.set():
		return fixed(def)
	case v.is(yaml.MappingNode):
		return perfLength(v)
	default:
		return fixed(v.integer(1))
	}
}

// perfLength reads a distribution with the tool's defaults, clamped to its bounds.
func perfLength(v value) *runplan.Length {
	f := v.fields()
	kind := f.get("type")
	shape := kind.word("normal", "lognormal", "uniform", "fixed", "skew_normal", "poisson")
	l := &runplan.Length{Shape: shape, Mean: f.numberOr("mean", 512), Stdev: perfDeviation(f)}
	l.Min, l.Max = f.countOr(10, "min"), f.countOr(1024, "max")
	f.ignore("skew")
	f.noted("has no effect: prompts are made as they are needed", "total_count")
	f.close()
	switch shape {
	case "skew_normal", "poisson":
		kind.needsTool("a distribution of type %q", shape)
		l.Shape = "normal"
	case "fixed":
		return &runplan.Length{Shape: shape, Mean: l.Mean}
	case "uniform":
		l.Mean, l.Stdev = math.Round(float64(l.Min+l.Max)/2), 0
	}
	if l.Min > l.Max {
		v.errorf(crossed, l.Min, l.Max)
	}
	return l
}

func perfDeviation(f *fields) float64 {
	stdev, variance, std := f.get("std_dev"), f.get("variance"), f.get("std")
	if std.set() {
		std.notef("is read as std_dev: the tool itself ignores this word up to 0.6")
	}
	if count(stdev, variance, std) > 1 {
		f.at.errorf("takes one of std_dev and variance")
	}
	switch {
	case stdev.set():
		return stdev.numberAtLeast(0)
	case std.set():
		return std.numberAtLeast(0)
	case variance.set():
		return math.Sqrt(max(0, variance.numberAtLeast(0)))
	default:
		return 200
	}
}

package inferenceperf

import (
	"math"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// readData reads the source of prompts. sessions is set where each prompt is a session whose requests follow one
// another.
func readData(d *tool.Draft, v tool.Value) (sessions tool.Value) {
	d.Data = runplan.Data{Turns: 1, FreshPerStage: true, Seed: 42}
	f := v.Fields()
	kind := f.Must("type")
	input, output, shared := f.Get("input_distribution"), f.Get("output_distribution"), f.Get("shared_prefix")
	switch kind.Text() {
	case "synthetic", "random":
		d.Data.Input, d.Data.Output = readLength(input), readLength(output)
	case "shared_prefix":
		sessions = readShared(d, shared)
	case "shareGPT":
		readShareGPT(d, kind, f)
	case "":
	default:
		kind.OtherKind("data of type", "synthetic", "random", "shared_prefix", "shareGPT")
	}
	if trace := f.Get("trace"); trace.IsSet() {
		d.Data = runplan.Data{Turns: 1, FreshPerStage: true, Seed: d.Data.Seed,
			Trace: readTrace(trace)}
		sessions = tool.Value{} // the requests of a trace belong to no session
	}
	readImages(d, f.Get("multimodal"))
	f.Ignore("use_chat_template")
	if path := f.Get("path"); path.IsSet() && d.Data.File == nil {
		path.NeedsTool("a data set in %q", path.Text())
	}
	f.ToolOnly("corpus_file_path", "otel_trace_replay", "weka_trace_replay", "conversation_replay", "visionarena",
		"synthetic_agentic")
	f.Close()
	return sessions
}

// readShareGPT reads a file of conversations; without a path the tool fetches one.
func readShareGPT(d *tool.Draft, kind tool.Value, f *tool.Fields) {
	path := f.Get("path")
	if !path.IsSet() {
		kind.NeedsTool("data of type %q without a path", kind.Text())
		return
	}
	d.Data.File = &runplan.File{Format: runplan.FileShareGPT, URL: path.Text()}
}

// readImages reads images of one number and size; other media, and mixtures, are the tool's.
func readImages(d *tool.Draft, v tool.Value) {
	f := v.Fields()
	f.ToolOnly("video", "audio")
	if image := f.Get("image"); image.IsSet() {
		i := image.Fields()
		n := readNumber(i.Get("count"), 1)
		size := i.Get("resolutions")
		w, h, ok := readSize(size)
		i.Ignore("insertion_point", "representation")
		i.Close()
		if !ok || n.Shape != "fixed" || d.API.Type != runplan.APIChat {
			image.NeedsTool("images of several sizes or numbers, or in a request that is no chat")
		}
		d.Data.Images = &runplan.Images{Count: int(n.Mean), Width: w, Height: h}
	}
	f.Close()
}

// readSize reads one resolution: a name of the tool's, or width and height.
func readSize(v tool.Value) (width, height int, ok bool) {
	if v.Is(yaml.MappingNode) {
		f := v.Fields()
		width, height = f.Must("width").Integer(1), f.Must("height").Integer(1)
		f.Close()
		return width, height, true
	}
	if !v.Is(yaml.ScalarNode) {
		return 0, 0, false
	}
	size, known := map[string][2]int{"4k": {3840, 2160}, "1080p": {1920, 1080}, "720p": {1280, 720},
		"360p": {640, 360}}[v.Text()]
	if !known {
		v.Errorf("%s", tool.NotOneOf(v.Text(), []string{"4k", "1080p", "720p", "360p"}))
	}
	return size[0], size[1], known
}

// readShared reads groups of prompts behind one prefix each.
func readShared(d *tool.Draft, v tool.Value) (sessions tool.Value) {
	f := v.Fields()
	groups := f.CountOr(10, "num_groups", "num_unique_system_prompts")
	prompts := f.CountOr(10, "num_prompts_per_group", "num_users_per_system_prompt")
	data := &d.Data
	data.Input = readNumber(f.Either("question_distribution", "question_len"), 50)
	data.Output = readNumber(f.Either("output_distribution", "output_len"), 50)
	length := f.Get("system_prompt_len")
	prefix := readNumber(length, 100)
	if prefix.Shape != "fixed" {
		length.NeedsTool("prefixes of different lengths")
	}
	data.Prefixes = []runplan.Prefix{{Weight: 1, Count: groups, Tokens: int(prefix.Mean)}}
	data.FreshPerStage, data.Conversations, data.Reuse = false, groups*prompts, true
	f.ToolOnly("multimodal")
	if multi := f.Get("enable_multi_turn_chat"); multi.Bool() {
		sessions = multi
	}
	if s := f.Get("seed"); s.IsSet() {
		data.Seed = s.Seed()
	}
	f.Close()
	return sessions
}

// readNumber reads a number or a distribution.
func readNumber(v tool.Value, def int) *runplan.Length {
	switch {
	case !v.IsSet():
		return tool.FixedLength(def)
	case v.Is(yaml.MappingNode):
		return readLength(v)
	default:
		return tool.FixedLength(v.Integer(1))
	}
}

// readLength reads a distribution with the tool's defaults, clamped to its bounds.
func readLength(v tool.Value) *runplan.Length {
	f := v.Fields()
	kind := f.Get("type")
	shape := kind.Word("normal", "lognormal", "uniform", "fixed", "skew_normal", "poisson")
	l := &runplan.Length{Shape: shape, Mean: f.NumberOr("mean", 512), Stdev: readDeviation(f)}
	l.Min, l.Max = f.CountOr(10, "min"), f.CountOr(1024, "max")
	f.Ignore("skew")
	f.Noted("has no effect: prompts are made as they are needed", "total_count")
	f.Close()
	switch shape {
	case "skew_normal", "poisson":
		kind.NeedsTool("a distribution of type %q", shape)
		l.Shape = "normal"
	case "fixed":
		return &runplan.Length{Shape: shape, Mean: l.Mean}
	case "uniform":
		l.Mean, l.Stdev = math.Round(float64(l.Min+l.Max)/2), 0
	}
	if l.Min > l.Max {
		v.Errorf(tool.Crossed, l.Min, l.Max)
	}
	return l
}

func readDeviation(f *tool.Fields) float64 {
	stdev, variance, std := f.Get("std_dev"), f.Get("variance"), f.Get("std")
	if std.IsSet() {
		std.Notef("is read as std_dev: the tool itself ignores this word up to 0.6")
	}
	if tool.CountSet(stdev, variance, std) > 1 {
		f.At.Errorf("takes one of std_dev and variance")
	}
	switch {
	case stdev.IsSet():
		return stdev.NumberAtLeast(0)
	case std.IsSet():
		return std.NumberAtLeast(0)
	case variance.IsSet():
		return math.Sqrt(max(0, variance.NumberAtLeast(0)))
	default:
		return 200
	}
}

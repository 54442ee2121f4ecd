package vllmbench

import (
	"math"
	"strings"
	"time"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

func readStages(d *tool.Draft, f *tool.Fields) {
	rate, streams, burst := f.Get("request-rate"), f.Get("max-concurrency"), f.Get("burstiness")
	prompts := f.Get("num-prompts")
	tool.Replace(&prompts, d.Over.MaxRequests)
	s := shapeOf(rate, streams.Integer(1), burst)
	if d.Data.Trace != nil && isOn(f.Get("self-timed")) {
		s = runplan.Stage{Shape: runplan.ShapeTrace, MaxInflight: streams.Integer(1)}
	}
	load := float64(s.Concurrency)
	if s.Shape == runplan.ShapeOpen {
		load = s.Rate
	}
	s.Measure, s.Requests = true, 1000
	if prompts.IsSet() {
		s.Requests = prompts.Expand(loadOf(load)).Integer(1)
	}
	if s.Shape == runplan.ShapeTrace && !prompts.IsSet() {
		s.Requests = 0 // the file says how many
	}
	readRamp(d, f, &s, rate)
	warm := f.Get("num-warmups")
	if n := warm.Integer(0); n > 0 {
		warm.Notef("sends different prompts: the tool repeats one")
		d.AddStage(warm, runplan.Stage{Name: "warmup", Shape: runplan.ShapeClosed,
			Concurrency: max(s.Concurrency, s.MaxInflight, 1), Requests: n})
	}
	d.AddStage(d.Block, s)
}

// loadOf is nil for a stage without a load value.
func loadOf(x float64) *float64 {
	if x == 0 {
		return nil
	}
	return &x
}

func shapeOf(rate tool.Value, streams int, burst tool.Value) runplan.Stage {
	if s := strings.ToLower(rate.Text()); s == "" || s == "inf" || s == ".inf" {
		if burst.IsSet() && !infinite(burst) {
			burst.NumberAtLeast(0)
		}
		if streams > 0 {
			return runplan.Stage{Shape: runplan.ShapeClosed, Concurrency: streams}
		}
		return runplan.Stage{Shape: runplan.ShapeThroughput}
	}
	s := runplan.Stage{Shape: runplan.ShapeOpen, Rate: rate.Positive(), MaxInflight: streams}
	setArrival(&s, burst)
	return s
}

func setArrival(s *runplan.Stage, burst tool.Value) {
	s.Arrival = "poisson"
	switch {
	case infinite(burst):
		s.Arrival = "constant"
	case burst.IsSet() && burst.Positive() != 1:
		s.Arrival, s.Burstiness = "gamma", burst.Positive()
	}
}

// readRamp reads a ramp over the requests: request i of n is sent at the rate start + (end-start) i/n. In time that
// rate grows exponentially, rate(t) = start e^((end-start) t/n), and reaches the end after n ln(end/start) /
// (end-start).
func readRamp(d *tool.Draft, f *tool.Fields, s *runplan.Stage, rate tool.Value) {
	kind, from, to := f.Get("ramp-up-strategy"), f.Get("ramp-up-start-rps"), f.Get("ramp-up-end-rps")
	if !kind.IsSet() {
		f.Ignore("ramp-up-start-rps", "ramp-up-end-rps")
		return
	}
	start, end := float64(from.Integer(1)), float64(to.Integer(1))
	switch {
	case kind.Word("linear", "exponential") == "exponential":
		kind.NeedsTool("a ramp that is exponential over the requests")
	case rate.IsSet() && !infinite(rate):
		rate.Errorf("excludes ramp-up-strategy: remove one of them")
	case start == 0 || end == 0:
		kind.Errorf("needs ramp-up-start-rps and ramp-up-end-rps, both above 0")
		return
	}
	s.Shape, s.Rate = runplan.ShapeOpen, end
	s.Concurrency, s.MaxInflight = 0, max(s.Concurrency, s.MaxInflight)
	setArrival(s, f.Get("burstiness"))
	if start != end {
		seconds := float64(s.Requests) * math.Log(end/start) / (end - start)
		s.RampShape, s.RampFrom, s.Ramp = "exponential", start, runplan.Duration(seconds*float64(time.Second))
	}
}

func infinite(v tool.Value) bool { return strings.TrimPrefix(strings.ToLower(v.Text()), ".") == "inf" }

func readData(d *tool.Draft, f *tool.Fields) {
	d.Data = runplan.Data{Turns: 1, FreshPerStage: true}
	if s := f.Get("seed"); s.IsSet() {
		d.Data.Seed = s.Seed()
	}
	in, out := f.Get("input-len"), f.Get("output-len")
	f.Ignore("random-input-len", "random-output-len", "random-range-ratio", "random-prefix-len",
		"prefix-repetition-prefix-len", "prefix-repetition-suffix-len", "prefix-repetition-num-prefixes",
		"prefix-repetition-output-len")
	set := f.Get("dataset-name")
	switch set.Text() {
	case "random", "":
		readRandom(d, f, in, out)
	case "prefix_repetition":
		readPrefixes(d, f, in, out)
	case "sharegpt", "custom", "timed_trace":
		readFile(d, f, set, out)
	default:
		set.OtherKind("dataset-name", "random", "prefix_repetition", "sharegpt", "custom", "timed_trace")
		f.ToolOnly("dataset-path", "custom-output-len", "sharegpt-output-len")
	}
	f.Ignore("self-timed", "dataset-path", "custom-output-len", "sharegpt-output-len", "custom-skip-chat-template",
		"skip-chat-template")
	d.API.ExactOutput = d.API.ExactOutput || isOn(f.Get("ignore-eos"))
	f.Ignore("ignore-eos")
	f.ToolOnly("hf-name", "hf-split", "hf-subset", "hf-output-len", "sonnet-input-len", "sonnet-output-len",
		"sonnet-prefix-len", "random-batch-size")
}

// readFile reads the data sets that are files: conversations, JSON lines with a prompt, or recorded send times.
func readFile(d *tool.Draft, f *tool.Fields, set, out tool.Value) {
	path := f.Get("dataset-path")
	if !path.IsSet() {
		set.Errorf("dataset-name %q needs dataset-path", set.Text())
		return
	}
	shuffle := !isOn(f.Get("disable-shuffle"))
	f.Noted("has no effect here: prompts come again when they are used up", "no-oversample")
	length := out
	switch set.Text() {
	case "timed_trace":
		d.Data.Trace = &runplan.Trace{Format: runplan.TraceJSONL, URL: path.Text(), TimeScale: 1}
		return
	case "sharegpt":
		d.Data.File = &runplan.File{Format: runplan.FileShareGPT, URL: path.Text(), Shuffle: shuffle}
		tool.Replace(&length, f.Get("sharegpt-output-len"))
	default:
		d.Data.File = &runplan.File{Format: runplan.FileJSONL, URL: path.Text(), PromptColumn: "prompt",
			Shuffle: shuffle}
		tool.Replace(&length, f.Get("custom-output-len"))
		d.Data.Output = tool.FixedLength(256)
	}
	switch {
	case length.Text() == "-1": // what the row says
		d.Data.Output = nil
	case length.IsSet():
		d.Data.Output = tool.FixedLength(length.Integer(1))
	}
}

func readRandom(d *tool.Draft, f *tool.Fields, in, out tool.Value) {
	lengths := around
	ratio := f.Get("random-range-ratio")
	share := ratio.Fraction()
	switch {
	case d.Tool == inferenceMAX:
		lengths = upTo
		if !ratio.IsSet() {
			share = 1
		}
	case share == 1:
		ratio.Errorf("want a share below 1, for lengths from L(1-r) to L(1+r); lengths from rL to L are those of tool %s",
			inferenceMAX)
	}
	d.Data.Input = lengths(orInt(in, f.Get("random-input-len"), 1024), share)
	d.Data.Output = lengths(orInt(out, f.Get("random-output-len"), 128), share)
	if n := f.Get("random-prefix-len").Integer(0); n > 0 {
		d.Data.Prefixes = []runplan.Prefix{{Weight: 1, Count: 1, Tokens: n}}
	}
	d.API.ExactOutput = true // the tool asks random prompts for their exact length
}

func readPrefixes(d *tool.Draft, f *tool.Fields, in, out tool.Value) {
	d.Data.Input = tool.FixedLength(orInt(in, f.Get("prefix-repetition-suffix-len"), 256))
	d.Data.Output = tool.FixedLength(orInt(out, f.Get("prefix-repetition-output-len"), 128))
	none := tool.Value{}
	d.Data.Prefixes = []runplan.Prefix{{
		Weight: 1, Count: orInt(f.Get("prefix-repetition-num-prefixes"), none, 10),
		Tokens: orInt(f.Get("prefix-repetition-prefix-len"), none, 256),
	}}
}

func orInt(strong, weak tool.Value, def int) int {
	tool.Replace(&weak, strong)
	if n := weak.Integer(1); weak.IsSet() {
		return n
	}
	return def
}

// around is uniform from mean(1-ratio) to mean(1+ratio).
func around(mean int, ratio float64) *runplan.Length {
	if ratio == 0 {
		return tool.FixedLength(mean)
	}
	x := float64(mean)
	return &runplan.Length{Shape: "uniform", Mean: x, Min: max(1, int(math.Floor(x*(1-ratio)))),
		Max: int(math.Ceil(x * (1 + ratio)))}
}

// upTo is uniform from high*ratio to high.
func upTo(high int, ratio float64) *runplan.Length {
	low := max(1, int(float64(high)*ratio))
	if low >= high {
		return tool.FixedLength(high)
	}
	return &runplan.Length{Shape: "uniform", Mean: math.Round(float64(low+high) / 2), Min: low, Max: high}
}

// isOn reads a switch, which may stand without a value (none, in files of llm-d-benchmark).
func isOn(v tool.Value) bool {
	if v.IsSet() && strings.EqualFold(v.Text(), "none") {
		return true
	}
	return v.Bool()
}

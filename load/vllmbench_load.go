package load

import (
	"math"
	"strings"
	"time"

	"bflow.dev/bflow/runplan"
)

func (t *translator) vllmStages(f *fields) {
	rate, streams, burst := f.get("request-rate"), f.get("max-concurrency"), f.get("burstiness")
	prompts := f.get("num-prompts")
	replaced(&prompts, t.over.maxRequests)
	s := vllmShape(rate, streams.integer(1), burst)
	if t.m.Data.Trace != nil && f.get("self-timed").flag() {
		s = runplan.Stage{Shape: runplan.ShapeTrace, MaxInflight: streams.integer(1)}
	}
	load := float64(s.Concurrency)
	if s.Shape == runplan.ShapeOpen {
		load = s.Rate
	}
	s.Measure, s.Requests = true, 1000
	if prompts.set() {
		s.Requests = prompts.expand(loadOf(load)).integer(1)
	}
	if s.Shape == runplan.ShapeTrace && !prompts.set() {
		s.Requests = 0 // the file says how many
	}
	t.vllmRamp(f, &s, rate)
	warm := f.get("num-warmups")
	if n := warm.integer(0); n > 0 {
		warm.notef("sends different prompts: the tool repeats one")
		t.addStage(warm, runplan.Stage{Name: "warmup", Shape: runplan.ShapeClosed, Concurrency: max(s.Concurrency, s.MaxInflight, 1), Requests: n})
	}
	t.addStage(t.block, s)
}

// loadOf is nil for a stage without a load value.
func loadOf(x float64) *float64 {
	if x == 0 {
		return nil
	}
	return &x
}

func vllmShape(rate value, streams int, burst value) runplan.Stage {
	if s := strings.ToLower(rate.text()); s == "" || s == "inf" || s == ".inf" {
		if burst.set() && !infinite(burst) {
			burst.numberAtLeast(0)
		}
		if streams > 0 {
			return runplan.Stage{Shape: runplan.ShapeClosed, Concurrency: streams}
		}
		return runplan.Stage{Shape: runplan.ShapeThroughput}
	}
	s := runplan.Stage{Shape: runplan.ShapeOpen, Rate: rate.positive(), Arrival: "poisson", MaxInflight: streams}
	switch {
	case infinite(burst):
		s.Arrival = "constant"
	case burst.set() && burst.positive() != 1:
		s.Arrival, s.Burstiness = "gamma", burst.positive()
	}
	return s
}

// vllmRamp reads a ramp over the requests: request i of n is sent at the rate start + (end-start) i/n. In time that rate
// grows exponentially, rate(t) = start e^((end-start) t/n), and reaches the end after n ln(end/start) / (end-start).
func (t *translator) vllmRamp(f *fields, s *runplan.Stage, rate value) {
	kind, from, to := f.get("ramp-up-strategy"), f.get("ramp-up-start-rps"), f.get("ramp-up-end-rps")
	if !kind.set() {
		f.ignore("ramp-up-start-rps", "ramp-up-end-rps")
		return
	}
	start, end := float64(from.integer(1)), float64(to.integer(1))
	switch {
	case kind.word("linear", "exponential") == "exponential":
		kind.needsTool("a ramp that is exponential over the requests")
	case rate.set() && !infinite(rate):
		rate.errorf("excludes ramp-up-strategy: remove one of them")
	case start == 0 || end == 0:
		kind.errorf("needs ramp-up-start-rps and ramp-up-end-rps, both above 0")
		return
	}
	s.Shape, s.Rate, s.Arrival, s.Concurrency, s.MaxInflight = runplan.ShapeOpen, end, "poisson", 0, max(s.Concurrency, s.MaxInflight)
	if burst := f.get("burstiness"); infinite(burst) {
		s.Arrival = "constant"
	} else if burst.set() && burst.positive() != 1 {
		s.Arrival, s.Burstiness = "gamma", burst.positive()
	}
	if start != end {
		seconds := float64(s.Requests) * math.Log(end/start) / (end - start)
		s.RampShape, s.RampFrom, s.Ramp = "exponential", start, runplan.Duration(seconds*float64(time.Second))
	}
}

func infinite(v value) bool { return strings.TrimPrefix(strings.ToLower(v.text()), ".") == "inf" }

func (t *translator) vllmData(f *fields) {
	t.m.Data = runplan.Data{Turns: 1, FreshPerStage: true}
	if s := f.get("seed"); s.set() {
		t.m.Data.Seed = s.seed()
	}
	in, out := f.get("input-len"), f.get("output-len")
	random := map[string]value{}
	for _, name := range vllmDataFlags() {
		random[name] = f.get(name)
	}
	set := f.get("dataset-name")
	switch set.text() {
	case "random", "":
		t.vllmRandom(random, in, out)
	case "prefix_repetition":
		t.vllmPrefixes(random, in, out)
	case "sharegpt", "custom", "timed_trace":
		t.vllmFile(f, set, out)
	default:
		set.otherKind("dataset-name", "random", "prefix_repetition", "sharegpt", "custom", "timed_trace")
		f.toolOnly("dataset-path", "custom-output-len", "sharegpt-output-len")
	}
	f.ignore("self-timed", "dataset-path", "custom-output-len", "sharegpt-output-len", "custom-skip-chat-template", "skip-chat-template")
	t.m.API.ExactOutput = t.m.API.ExactOutput || f.get("ignore-eos").flag()
	f.ignore("ignore-eos")
	f.toolOnly("hf-name", "hf-split", "hf-subset", "hf-output-len", "sonnet-input-len", "sonnet-output-len", "sonnet-prefix-len", "random-batch-size")
}

// vllmFile reads the data sets that are files: conversations, JSON lines with a prompt, or recorded send times.
func (t *translator) vllmFile(f *fields, set, out value) {
	path := f.get("dataset-path")
	if !path.set() {
		set.errorf("dataset-name %q needs dataset-path", set.text())
		return
	}
	shuffle := !f.get("disable-shuffle").flag()
	f.noted("has no effect here: prompts come again when they are used up", "no-oversample")
	length := out
	switch set.text() {
	case "timed_trace":
		t.m.Data.Trace = &runplan.Trace{Format: runplan.TraceJSONL, URL: path.text(), TimeScale: 1}
		return
	case "sharegpt":
		t.m.Data.File = &runplan.File{Format: runplan.FileShareGPT, URL: path.text(), Shuffle: shuffle}
		replaced(&length, f.get("sharegpt-output-len"))
	default:
		t.m.Data.File = &runplan.File{Format: runplan.FileJSONL, URL: path.text(), PromptColumn: "prompt", Shuffle: shuffle}
		replaced(&length, f.get("custom-output-len"))
		t.m.Data.Output = fixed(256)
	}
	switch {
	case length.text() == "-1": // what the row says
		t.m.Data.Output = nil
	case length.set():
		t.m.Data.Output = fixed(length.integer(1))
	}
}

func vllmDataFlags() []string {
	return []string{
		"random-input-len", "random-output-len", "random-range-ratio", "random-prefix-len",
		"prefix-repetition-prefix-len", "prefix-repetition-suffix-len", "prefix-repetition-num-prefixes", "prefix-repetition-output-len",
	}
}

func (t *translator) vllmRandom(random map[string]value, in, out value) {
	lengths := around
	ratio := random["random-range-ratio"]
	share := ratio.fraction()
	switch {
	case t.m.Tool == InferenceMAX:
		lengths = upTo
		if !ratio.set() {
			share = 1
		}
	case share == 1:
		ratio.errorf("want a share below 1, for lengths from L(1-r) to L(1+r); lengths from rL to L are those of tool %s", InferenceMAX)
	}
	t.m.Data.Input = lengths(orInt(in, random["random-input-len"], 1024), share)
	t.m.Data.Output = lengths(orInt(out, random["random-output-len"], 128), share)
	if n := random["random-prefix-len"].integer(0); n > 0 {
		t.m.Data.Prefixes = []runplan.Prefix{{Weight: 1, Count: 1, Tokens: n}}
	}
	t.m.API.ExactOutput = true // the tool asks random prompts for their exact length
}

func (t *translator) vllmPrefixes(random map[string]value, in, out value) {
	t.m.Data.Input = fixed(orInt(in, random["prefix-repetition-suffix-len"], 256))
	t.m.Data.Output = fixed(orInt(out, random["prefix-repetition-output-len"], 128))
	t.m.Data.Prefixes = []runplan.Prefix{{
		Weight: 1, Count: orInt(random["prefix-repetition-num-prefixes"], value{}, 10), Tokens: orInt(random["prefix-repetition-prefix-len"], value{}, 256),
	}}
}

func orInt(strong, weak value, def int) int {
	for _, v := range []value{strong, weak} {
		if n := v.integer(1); v.set() {
			return n
		}
	}
	return def
}

// around is uniform from mean(1-ratio) to mean(1+ratio).
func around(mean int, ratio float64) *runplan.Length {
	if ratio == 0 {
		return fixed(mean)
	}
	x := float64(mean)
	return &runplan.Length{Shape: "uniform", Mean: x, Min: max(1, int(math.Floor(x*(1-ratio)))), Max: int(math.Ceil(x * (1 + ratio)))}
}

// upTo is uniform from high*ratio to high.
func upTo(high int, ratio float64) *runplan.Length {
	low := max(1, int(float64(high)*ratio))
	if low >= high {
		return fixed(high)
	}
	return &runplan.Length{Shape: "uniform", Mean: math.Round(float64(low+high) / 2), Min: low, Max: high}
}

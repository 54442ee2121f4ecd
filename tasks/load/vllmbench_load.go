package load

import (
	"math"
	"strings"

	"bflow.dev/bflow/tasks/runplan"
)

func (t *translator) vllmStages(f *fields) {
	rate, streams, burst := f.get("request-rate"), f.get("max-concurrency"), f.get("burstiness")
	prompts := f.get("num-prompts")
	replaced(&prompts, t.over.maxRequests)
	s := vllmShape(rate, streams.integer(1), burst)
	load := float64(s.Concurrency)
	if s.Shape == runplan.ShapeOpen {
		load = s.Rate
	}
	s.Measure, s.Requests = true, 1000
	if prompts.set() {
		s.Requests = prompts.expand(loadOf(load)).integer(1)
	}
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
	default:
		set.otherKind("dataset-name", "random", "prefix_repetition")
	}
	t.m.API.ExactOutput = t.m.API.ExactOutput || f.get("ignore-eos").flag()
	f.ignore("ignore-eos")
	f.toolOnly("dataset-path", "custom-output-len", "hf-name", "hf-split", "hf-subset", "hf-output-len", "sharegpt-output-len",
		"sonnet-input-len", "sonnet-output-len", "sonnet-prefix-len", "self-timed", "no-oversample", "disable-shuffle", "random-batch-size")
}

func vllmDataFlags() []string {
	return []string{
		"random-input-len", "random-output-len", "random-range-ratio", "random-prefix-len",
		"prefix-repetition-prefix-len", "prefix-repetition-suffix-len", "prefix-repetition-num-prefixes", "prefix-repetition-output-len",
	}
}

func (t *translator) vllmRandom(random map[string]value, in, out value) {
	ratio := random["random-range-ratio"].fraction()
	t.m.Data.Input = around(orInt(in, random["random-input-len"], 1024), ratio)
	t.m.Data.Output = around(orInt(out, random["random-output-len"], 128), ratio)
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

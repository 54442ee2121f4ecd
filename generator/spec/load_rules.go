package spec

import (
	"math"
	"strconv"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load"
	"bflow.dev/bflow/runplan"
)

// check finds stages that never end or mix shapes, and lengths that cannot be drawn.
func (l *LoadBlock) check() (out problem.Findings) {
	if l == nil {
		return nil
	}
	if len(l.Stages) == 0 && l.Sweep == nil && l.Search == nil {
		out.Add("", "want stages, sweep or search, found none of them")
	}
	out.Under("api", l.API.check())
	names := map[string]int{}
	for i := range l.Stages {
		s, at := &l.Stages[i], "stages["+strconv.Itoa(i)+"]"
		out.Under(at, s.check(&l.Data))
		if first, ok := names[s.Name]; ok && s.Name != "" {
			out.Add(at+".name", "duplicate stage name %q, first in stages[%d]", s.Name, first)
		}
		names[s.Name] = i
	}
	if s := l.Sweep; s != nil && s.Duration == 0 && s.Requests == 0 {
		out.Add("sweep", "its stages never end; set duration or requests")
	}
	out.Under("search", l.Search.check())
	out.Under("data", l.Data.check())
	if l.Data.Images != nil && !isChat(l.API.Type) {
		out.Add("data.images", "images are parts of a chat message; set api.type to chat")
	}
	return out
}

// isChat reports whether a request type is chat, which it is without a word.
func isChat(word string) bool {
	kind, _ := load.APIType(word)
	return word == "" || kind == runplan.APIChat
}

func (a *LoadAPI) check() (out problem.Findings) {
	if t := a.TLS; t != nil && (t.Cert == "") != (t.Key == "") {
		out.Add("tls", "cert and key go together; remove one or add the other")
	}
	if s := a.SLOHeaders; s != nil && s.TTFT == 0 && s.TPOT == 0 {
		out.Add("slo_headers", "want ttft or tpot, found neither")
	}
	return out
}

func (s *LoadStage) check(data *LoadData) (out problem.Findings) {
	shapes := 0
	for _, set := range []bool{len(s.Concurrency) > 0, len(s.Rate) > 0, s.Schedule != "", s.Throughput, s.Synchronous} {
		if set {
			shapes++
		}
	}
	open, closed := len(s.Rate) > 0, len(s.Concurrency) > 0 || s.Synchronous
	switch {
	case shapes != 1:
		out.Add("", "want one of concurrency, rate, schedule, throughput and synchronous, found %d of them", shapes)
	case s.Schedule != "" && data.Trace == nil:
		out.Add("schedule", "schedule trace needs data.trace")
	case !s.bounded(data):
		out.Add("", "the stage never ends; set duration or requests")
	}
	shape := shapeWords{s.Arrival, s.Burstiness, s.SlotPer, s.OnFull, s.MaxInflight.N, s.Ramp}
	out = append(out, shape.check(open, closed)...)
	if s.OnFull != "" && s.Throughput {
		out.Add("on_full", "on_full needs rate or schedule; a throughput stage only sends what fits")
	}
	for i := range s.Stop {
		out.Under("stop["+strconv.Itoa(i)+"]", s.Stop[i].check())
	}
	return out
}

// shapeWords are the words that depend on the shape of a stage.
type shapeWords struct {
	arrival         string
	burstiness      float64
	slotPer, onFull string
	maxInflight     int
	ramp            Ramp
}

func (s shapeWords) check(open, closed bool) (out problem.Findings) {
	if s.arrival != "" && !open {
		out.Add("arrival", "arrival needs rate")
	}
	if s.burstiness != 0 && s.arrival != "gamma" {
		out.Add("burstiness", "burstiness needs arrival gamma")
	}
	if s.slotPer != "" && !closed {
		out.Add("slot_per", "slot_per needs concurrency")
	}
	if s.maxInflight > 0 && closed {
		out.Add("max_inflight", "max_inflight needs rate or schedule; concurrency is a cap already")
	}
	if s.onFull != "" && s.maxInflight == 0 {
		out.Add("on_full", "on_full needs max_inflight")
	}
	out.Under("ramp", s.ramp.check(open))
	return out
}

// check finds a ramp that cannot be climbed.
func (r Ramp) check(open bool) (out problem.Findings) {
	if r.Shape == "exponential" && r.From == 0 {
		out.Add("shape", "shape exponential needs from, a rate above 0")
	}
	if (r.Shape == "steps") != (r.Steps > 0) {
		out.Add("shape", "shape steps and the number of steps go together")
	}
	if !open && (r.From > 0 || r.Shape != "" || r.Steps > 0) {
		out.Add("", "from, shape and steps need a stage with rate")
	}
	return out
}

func (s *Search) check() (out problem.Findings) {
	if s == nil {
		return nil
	}
	if s.Low > 0 && s.High > 0 && s.Low >= s.High {
		out.Add("high", "want a load above low, %s, found %s", scalar.Plain(s.Low), scalar.Plain(s.High))
	}
	slots := s.Over == "concurrency"
	if slots && (s.Low != math.Trunc(s.Low) || s.High != math.Trunc(s.High)) {
		out.Add("over", "over concurrency needs whole numbers in low and high")
	}
	l := s.Level
	if l == nil {
		return out
	}
	if l.Duration == 0 && l.Requests == 0 {
		out.Add("level", "a level never ends; set duration or requests")
	}
	shape := shapeWords{l.Arrival, l.Burstiness, l.SlotPer, l.OnFull, l.MaxInflight, l.Ramp}
	out.Under("level", shape.check(!slots, slots))
	for i := range l.Stop {
		out.Under("level.stop["+strconv.Itoa(i)+"]", l.Stop[i].check())
	}
	return out
}

// bounded reports whether something ends the stage while all goes well.
func (s *LoadStage) bounded(data *LoadData) bool {
	for _, r := range s.Stop {
		if r.Kind == "max_duration" || r.Kind == "max_requests" {
			return true
		}
	}
	return s.Duration > 0 || s.Requests.N > 0 || s.Schedule != "" || data.Conversations > 0
}

// check finds a rule without the number it is about.
func (r *StopRule) check() (out problem.Findings) {
	missing := ""
	switch r.Kind {
	case "max_duration":
		if r.Seconds == nil {
			missing = "seconds"
		}
	case "max_requests", "max_errors":
		if r.Count.N == 0 {
			missing = "count"
		}
	case "max_error_rate", "max_global_error_rate":
		if r.Rate == nil {
			missing = "rate"
		}
	}
	if missing != "" {
		out.Add(missing, "required field is missing: kind %s needs it", r.Kind)
	}
	return out
}

func (d *LoadData) check() (out problem.Findings) {
	for _, l := range []struct {
		name   string
		length *Length
	}{{"input", d.Input}, {"output", d.Output}, {"first_input", d.FirstInput}, {"first_output", d.FirstOutput}} {
		out.Under(l.name, l.length.check())
		if l.length != nil && d.Trace != nil {
			out.Add(l.name, "a trace has its own lengths; remove %s or trace", l.name)
		}
	}
	if d.File != nil {
		out = append(out, d.checkFile()...)
	}
	if d.Trace == nil {
		return out
	}
	if len(d.Prefixes) > 0 {
		out.Add("prefixes", "a trace has its own prefixes; remove prefixes or trace")
	}
	if t := d.Trace; t.To > 0 && t.To <= t.From {
		out.Add("trace.to", "want a time after from, %s, found %s", t.From, t.To)
	}
	return out
}

// checkFile finds words that a file of prompts leaves no room for.
func (d *LoadData) checkFile() (out problem.Findings) {
	if d.File.Format == "" && load.FileFormat(d.File.URL) == "" {
		out.Add("file.format", "required field is missing: the name of the file does not say it")
	}
	for _, other := range []struct {
		name string
		set  bool
	}{
		{"input", d.Input != nil}, {"first_input", d.FirstInput != nil}, {"trace", d.Trace != nil},
	} {
		if other.set {
			out.Add(other.name, "a file has its own prompts; remove %s or file", other.name)
		}
	}
	if d.Turns > 1 && d.File.Format != runplan.FileShareGPT {
		out.Add("turns", "a row of this file is one turn; turns need format sharegpt")
	}
	return out
}

func (l *Length) check() (out problem.Findings) {
	if l == nil {
		return nil
	}
	if l.Min != nil && l.Max != nil && *l.Min > *l.Max {
		out.Add("max", "want at least min, %d, found %d", *l.Min, *l.Max)
	}
	if l.Shape == "fixed" && (l.Stdev > 0 || l.Min != nil || l.Max != nil) {
		out.Add("shape", "shape fixed takes only mean; remove stdev, min and max, or the shape")
	}
	if l.Shape == "uniform" && l.Min == nil && l.Max == nil {
		out.Add("shape", "shape uniform needs min or max")
	}
	if (l.Shape == "normal" || l.Shape == "lognormal") && l.Stdev == 0 {
		out.Add("shape", "shape %s needs stdev", l.Shape)
	}
	return out
}

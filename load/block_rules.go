package load

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// Check finds stages that never end or mix shapes, and lengths that cannot be drawn: every rule between fields, but for
// the source of prompts, which an axis of a matrix may still name. Paths are relative to the block.
func (b *NativeBlock) Check() (out problem.Findings) {
	if b == nil {
		return nil
	}
	if len(b.Stages) == 0 && b.Sweep == nil && b.Search == nil {
		out.Add("", "want stages, sweep or search, found none of them")
	}
	out.Under("api", b.API.check())
	names := map[string]int{}
	for i := range b.Stages {
		s, at := &b.Stages[i], item("stages", i)
		out.Under(at, s.check(&b.Data))
		if first, ok := names[s.Name]; ok && s.Name != "" {
			out.Add(at+".name", "duplicate stage name %q, first in stages[%d]", s.Name, first)
		}
		names[s.Name] = i
	}
	out.Under("sweep", b.Sweep.check())
	out.Under("search", b.Search.check())
	out.Under("data", b.Data.check())
	out.Under("data", b.Data.checkImages(b.API.kind()))
	out.Under("data", b.checkPrefixes())
	return out
}

// item is the path of an entry of a list.
func item(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// kind is the type of API that requests go to: chat without a word.
func (a *NativeAPI) kind() string {
	if kind, known := tool.APIType(a.Type); known {
		return kind
	}
	return runplan.APIChat
}

// checkImages finds images in requests of a type that takes none.
func (d *NativeData) checkImages(kind string) (out problem.Findings) {
	if d.Images != nil && kind != runplan.APIChat {
		out.Add("images", "images are parts of a chat message; set api.type to chat")
	}
	return out
}

// checkPrefixes finds numbers of prefixes that depend on a load value where a stage has none.
func (b *NativeBlock) checkPrefixes() (out problem.Findings) {
	valueless := b.Sweep != nil || len(b.Stages) == 0
	var loads []float64
	for i := range b.Stages {
		of := b.Stages[i].loads()
		valueless = valueless || len(of) == 0
		loads = append(loads, of...)
	}
	if valueless {
		loads = nil
	}
	for i, p := range b.Data.Prefixes {
		out.Under(item("prefixes", i)+".count", p.Count.Check(loads))
	}
	return out
}

func (a *NativeAPI) check() (out problem.Findings) {
	if t := a.TLS; t != nil && (t.Cert == "") != (t.Key == "") {
		out.Add("tls", "cert and key go together; remove one or add the other")
	}
	if s := a.SLOHeaders; s != nil && s.TTFT == 0 && s.TPOT == 0 {
		out.Add("slo_headers", "want ttft or tpot, found neither")
	}
	return out
}

func (s *NativeStage) check(data *NativeData) (out problem.Findings) {
	given := s.Given()
	var shapes []shape.Shape
	for _, g := range given {
		shapes = append(shapes, shape.Of(g.Stages[0].Shape))
	}
	switch {
	case len(given) != 1:
		keys := shape.Keys()
		last := len(keys) - 1
		out.Add("", "want one of %s and %s, found %d of them", strings.Join(keys[:last], ", "), keys[last], len(given))
	case shapes[0].Replays && data.Trace == nil:
		out.Add(given[0].Key, "%s %s needs data.trace", given[0].Key, shapes[0].Name)
	case !s.isBounded(data, shapes[0]):
		out.Add("", "the stage never ends; set duration or requests")
	}
	out = append(out, s.words().check(shapes)...)
	for i := range s.Stop {
		out.Under(item("stop", i), s.Stop[i].check())
	}
	if len(given) == 1 {
		out = append(out, s.checkLoads(given[0])...)
	}
	return out
}

// loads are the load values of a stage: it is one stage of a plan for each. Not every shape has them.
func (s *NativeStage) loads() (all []float64) {
	for _, stage := range s.Stages() {
		if shape.AxisOf(stage.Shape).Unit != "" {
			all = append(all, shape.Load(&stage))
		}
	}
	return all
}

// checkLoads finds load values that no host can make, and numbers that do not fit them.
func (s *NativeStage) checkLoads(by shape.Given) (out problem.Findings) {
	loads := s.loads()
	for i, x := range loads {
		at := item(by.Key, i)
		if len(loads) == 1 {
			at = by.Key
		}
		if x > runplan.MostAtOnce {
			out.Add(at, "want at most %d, found %s", runplan.MostAtOnce, scalar.Plain(x))
		}
	}
	out.Under("requests", s.Requests.Check(loads))
	out.Under("max_inflight", s.MaxInflight.Check(loads))
	for i := range s.Stop {
		out.Under(item("stop", i)+".count", s.Stop[i].Count.Check(loads))
	}
	if len(out) > 0 {
		return out
	}
	if len(loads) == 0 {
		loads = []float64{0}
	}
	for _, x := range loads {
		b := tool.Bounds{Duration: runplan.Duration(s.Duration), Requests: s.Requests.Of(x)}
		if out = checkSkips(s.SkipFirst, s.SkipLast, b); len(out) > 0 {
			break
		}
	}
	return out
}

// checkSkips checks both ends of a stage with the given bounds.
func checkSkips(first, last Skip, b tool.Bounds) (out problem.Findings) {
	out.Under("skip_first", first.Check(b))
	out.Under("skip_last", last.Check(b))
	return out
}

// shapeWords are the words that depend on the shape of a stage, or of a level of a search.
type shapeWords struct {
	arrival         string
	burstiness      float64
	slotPer, onFull string
	maxInflight     Count
	ramp            Ramp
}

func (s *NativeStage) words() shapeWords {
	return shapeWords{s.Arrival, s.Burstiness, s.SlotPer, s.OnFull, s.MaxInflight, s.Ramp}
}

func (l *SearchLevel) words() shapeWords {
	return shapeWords{l.Arrival, l.Burstiness, l.SlotPer, l.OnFull, Count{N: l.MaxInflight}, l.Ramp}
}

func (l *SearchLevel) bounds() tool.Bounds {
	return tool.Bounds{Duration: runplan.Duration(l.Duration), Requests: l.Requests}
}

// check finds words that none of the shapes takes, or that one of them refuses. Only a stage that is wrong has several.
func (s shapeWords) check(shapes []shape.Shape) (out problem.Findings) {
	lacks := func(takes func(shape.Takes) bool) bool {
		return !slices.ContainsFunc(shapes, func(of shape.Shape) bool { return takes(of.Takes) })
	}
	refuse := func(word string, why func(shape.Refuses) string) {
		for _, of := range shapes {
			if text := why(of.Refuses); text != "" {
				out.Add(word, "%s", text)
				return
			}
		}
	}
	if s.arrival != "" && lacks(takesArrival) {
		out.Add("arrival", "arrival needs %s", shape.KeysThatTake(takesArrival))
	}
	if s.burstiness != 0 && s.arrival != "gamma" {
		out.Add("burstiness", "burstiness needs arrival gamma")
	}
	if s.slotPer != "" && lacks(takesSlotPer) {
		out.Add("slot_per", "slot_per needs %s", shape.KeysThatTake(takesSlotPer))
	}
	if s.maxInflight.N > 0 {
		refuse("max_inflight", func(r shape.Refuses) string { return r.MaxInflight })
	}
	if s.onFull != "" && s.maxInflight.N == 0 {
		out.Add("on_full", "on_full needs max_inflight")
	}
	if s.onFull != "" {
		refuse("on_full", func(r shape.Refuses) string { return r.OnFull })
	}
	if s.ramp.Over > 0 && lacks(takesRamp) {
		out.Add("ramp", "ramp needs %s", shape.KeysThatTake(takesRamp))
		return out
	}
	out.Under("ramp", s.ramp.check(!lacks(takesRampForm)))
	return out
}

func takesArrival(t shape.Takes) bool  { return t.Arrival }
func takesRamp(t shape.Takes) bool     { return t.Ramp }
func takesRampForm(t shape.Takes) bool { return t.RampForm }
func takesSlotPer(t shape.Takes) bool  { return t.SlotPer }

// check finds a ramp that cannot be climbed.
func (r Ramp) check(hasForm bool) (out problem.Findings) {
	if r.Shape == "exponential" && r.From == 0 {
		out.Add("shape", "shape exponential needs from, a rate above 0")
	}
	if (r.Shape == "steps") != (r.Steps > 0) {
		out.Add("shape", "shape steps and the number of steps go together")
	}
	if r.Over == 0 && (r.From > 0 || r.Shape != "" || r.Steps > 0) {
		out.Add("over", "a ramp with from, shape or steps takes time; set over above 0")
	}
	if !hasForm && (r.From > 0 || r.Shape != "" || r.Steps > 0) {
		out.Add("", "from, shape and steps need a stage with %s", shape.KeysThatTake(takesRampForm))
	}
	return out
}

// check finds a sweep that never ends, or has more stages than a list has entries.
func (s *Sweep) check() (out problem.Findings) {
	if s == nil {
		return nil
	}
	if s.Duration == 0 && s.Requests == 0 {
		out.Add("", "its stages never end; set duration or requests")
	}
	if n := s.Points + s.Knee; n > tool.MaxList {
		out.Add("", "want at most %d stages of a sweep, found %d", tool.MaxList, n)
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
	slots := s.Over == runplan.SearchConcurrency
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
	out.Under("level", l.words().check([]shape.Shape{shape.Of(s.levelShape())}))
	for i := range l.Stop {
		out.Under("level."+item("stop", i), l.Stop[i].check())
		out.Under("level."+item("stop", i)+".count", l.Stop[i].Count.Check(nil))
	}
	out.Under("level", checkSkips(l.SkipFirst, l.SkipLast, l.bounds()))
	return out
}

// isBounded reports whether something ends the stage while all goes well.
func (s *NativeStage) isBounded(data *NativeData, of shape.Shape) bool {
	return s.Duration > 0 || s.Requests.N > 0 || of.Replays || data.Conversations > 0
}

func (d *NativeData) check() (out problem.Findings) {
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
func (d *NativeData) checkFile() (out problem.Findings) {
	if d.File.Format == "" && FileFormat(d.File.URL) == "" {
		out.Add("file.format", "required field is missing: the file extension does not imply it")
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
	low, high := l.drawn().Min, l.drawn().Max
	switch {
	case l.Min != nil && l.Max != nil && *l.Min > *l.Max:
		out.Add("max", "want at least min, %d, found %d", *l.Min, *l.Max)
	case low > 0 && high > 0 && low > high:
		out.Add("", tool.Crossed, low, high)
	}
	if l.Shape == "fixed" && (l.Stdev > 0 || l.Min != nil || l.Max != nil) {
		out.Add("shape", "shape fixed takes only mean; remove stdev, min and max, or the shape")
	}
	if l.Shape == "uniform" && l.Stdev > 0 {
		out.Add("stdev", "shape uniform takes no stdev; remove it, or the shape")
	}
	if l.Shape == "uniform" && l.Min == nil && l.Max == nil {
		out.Add("shape", "shape uniform needs min or max")
	}
	if (l.Shape == "normal" || l.Shape == "lognormal") && l.Stdev == 0 {
		out.Add("shape", "shape %s needs stdev", l.Shape)
	}
	return out
}

package spec

import (
	"strconv"
)

// check finds stages that never end or mix shapes, and lengths that cannot be drawn.
func (l *LoadBlock) check() (out findings) {
	if l == nil {
		return nil
	}
	if len(l.Stages) == 0 && l.Search == nil {
		out.add("", "want stages or search, found neither")
	}
	if s := l.Search; s != nil && s.Low > 0 && s.High > 0 && s.Low >= s.High {
		out.add("search.high", "want a rate above low, %s, found %s", plain(s.Low), plain(s.High))
	}
	names := map[string]int{}
	for i := range l.Stages {
		s, at := &l.Stages[i], "stages["+strconv.Itoa(i)+"]"
		out.under(at, s.check(&l.Data))
		if first, ok := names[s.Name]; ok && s.Name != "" {
			out.add(at+".name", "duplicate stage name %q, first in stages[%d]", s.Name, first)
		}
		names[s.Name] = i
	}
	out.under("data", l.Data.check())
	return out
}

func (s *LoadStage) check(data *LoadData) (out findings) {
	shapes := 0
	for _, set := range []bool{len(s.Concurrency) > 0, len(s.Rate) > 0, s.Schedule != ""} {
		if set {
			shapes++
		}
	}
	open := len(s.Rate) > 0
	switch {
	case shapes != 1:
		out.add("", "want one of concurrency, rate and schedule, found %d of them", shapes)
	case s.Schedule != "" && data.Trace == nil:
		out.add("schedule", "schedule trace needs data.trace")
	case !s.bounded(data):
		out.add("", "the stage never ends; set duration or requests")
	}
	if s.Arrival != "" && !open {
		out.add("arrival", "arrival needs rate")
	}
	if s.Burstiness != 0 && s.Arrival != "gamma" {
		out.add("burstiness", "burstiness needs arrival gamma")
	}
	if s.MaxInflight.N > 0 && len(s.Concurrency) > 0 {
		out.add("max_inflight", "max_inflight needs rate or schedule; concurrency is a cap already")
	}
	if s.OnFull != "" && s.MaxInflight.N == 0 {
		out.add("on_full", "on_full needs max_inflight")
	}
	for i := range s.Stop {
		out.under("stop["+strconv.Itoa(i)+"]", s.Stop[i].check())
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
func (r *StopRule) check() (out findings) {
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
		out.add(missing, "required field is missing: kind %s needs it", r.Kind)
	}
	return out
}

func (d *LoadData) check() (out findings) {
	for _, l := range []struct {
		name   string
		length *Length
	}{{"input", d.Input}, {"output", d.Output}, {"first_input", d.FirstInput}, {"first_output", d.FirstOutput}} {
		out.under(l.name, l.length.check())
		if l.length != nil && d.Trace != nil {
			out.add(l.name, "a trace has its own lengths; remove %s or trace", l.name)
		}
	}
	if d.Trace == nil {
		return out
	}
	if len(d.Prefixes) > 0 {
		out.add("prefixes", "a trace has its own prefixes; remove prefixes or trace")
	}
	if t := d.Trace; t.To > 0 && t.To <= t.From {
		out.add("trace.to", "want a time after from, %s, found %s", t.From, t.To)
	}
	return out
}

func (l *Length) check() (out findings) {
	if l == nil {
		return nil
	}
	if l.Min != nil && l.Max != nil && *l.Min > *l.Max {
		out.add("max", "want at least min, %d, found %d", *l.Min, *l.Max)
	}
	if l.Shape == "fixed" && (l.Stdev > 0 || l.Min != nil || l.Max != nil) {
		out.add("shape", "shape fixed takes only mean; remove stdev, min and max, or the shape")
	}
	if l.Shape == "uniform" && l.Min == nil && l.Max == nil {
		out.add("shape", "shape uniform needs min or max")
	}
	if (l.Shape == "normal" || l.Shape == "lognormal") && l.Stdev == 0 {
		out.add("shape", "shape %s needs stdev", l.Shape)
	}
	return out
}

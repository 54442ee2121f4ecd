package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Options say how strictly a history is judged.
type Options struct {
	Skew time.Duration // by how much the clocks of hubs may differ: two that overlap for less are not told apart
	Open bool          // the log was cut: a run that was let start need not have ended
	Lag  time.Duration // how far the word of a quota may be from what the queue did: runs that it admitted start later
}

// span is the time in which a run is let start and not released, or acts on its target.
type span struct {
	Event
	end    time.Time
	open   bool
	strict bool // it acts: no fence excuses it
}

// Check returns everything in a history that must not be, as sentences. The events may be in any order: those of one
// hub are told by its clock.
func Check(events []Event, o Options) []error {
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b Event) int { return a.Time.Compare(b.Time) })
	events = excuse(events)
	errs := fences(events)
	spans, more := spansOf(events, o)
	errs = append(errs, more...)
	errs = append(errs, keys(spans, takeovers(events), o)...)
	return append(errs, quotas(events, o)...)
}

// excuse ends runs whose end nobody told because the controller was killed between the deed and the word: at the
// birth of the next one, where no later word about them is left.
func excuse(events []Event) []Event {
	type id struct{ hub, target, run string }
	of := func(e Event) id { return id{e.Hub, e.Target, e.Run} }
	told := func(after int, who id) bool {
		for _, e := range events[after:] {
			if of(e) == who && e.Kind != Idle {
				return e.Kind == Released || e.Kind == Forced
			}
		}
		return false
	}
	var out []Event
	open := map[id]Event{}
	for i, e := range events {
		out = append(out, e)
		switch e.Kind {
		case Started:
			open[of(e)] = e
		case Released, Forced:
			delete(open, of(e))
		case Born:
			for who, run := range open {
				if who.hub == e.Hub && !told(i, who) {
					run.Kind, run.Time = Released, e.Time
					out = append(out, run)
					delete(open, who)
				}
			}
		}
	}
	return out
}

// fences must be one hub's and one key's, and grow at every hub.
func fences(events []Event) []error {
	type at struct {
		target string
		fence  int64
	}
	var errs []error
	whose := map[at]Event{}
	last := map[place]Event{}
	for _, e := range events {
		if e.Kind != Taken {
			continue
		}
		if other, ok := whose[at{e.Target, e.Fence}]; ok && (other.Hub != e.Hub || other.Key != e.Key) {
			errs = append(errs, fmt.Errorf("fence %d of target %q is that of two: %v, and %v", e.Fence, e.Target, other, e))
		}
		whose[at{e.Target, e.Fence}] = e
		if before := last[placeOf(e)]; before.Fence >= e.Fence {
			errs = append(errs, fmt.Errorf("the fence of target %q does not grow: %v, then %v", e.Target, before, e))
		}
		last[placeOf(e)] = e
	}
	return errs
}

func takeovers(events []Event) []Event {
	var out []Event
	for _, e := range events {
		if e.Kind == Taken && e.From != "" {
			out = append(out, e)
		}
	}
	return out
}

// spansOf pairs beginnings with ends.
func spansOf(events []Event, o Options) ([]span, []error) {
	type id struct {
		hub, target, run string
		strict           bool
	}
	var errs []error
	var out []span
	open := map[id]int{}
	for _, e := range events {
		key := id{e.Hub, e.Target, e.Run, e.Kind == Acts || e.Kind == Clean}
		switch e.Kind {
		case Started, Acts:
			if _, twice := open[key]; !twice {
				open[key] = len(out)
				out = append(out, span{Event: e, open: true, strict: e.Kind == Acts})
			}
		case Released, Forced, Clean:
			if i, ok := open[key]; ok {
				out[i].end, out[i].open = e.Time, false
				delete(open, key)
			}
		}
	}
	if !o.Open {
		for _, s := range out {
			if s.open {
				errs = append(errs, fmt.Errorf("it never ends: %v", s.Event))
			}
		}
	}
	return out, errs
}

// keys must not overlap, other than for spans that a takeover has fenced.
func keys(spans []span, over []Event, o Options) []error {
	var errs []error
	slices.SortStableFunc(spans, func(a, b span) int { return a.Time.Compare(b.Time) })
	var alive []span
	for _, s := range spans {
		if s.Key == "" {
			continue
		}
		alive = slices.DeleteFunc(alive, func(a span) bool { return !a.open && !a.end.After(s.Time) })
		for _, a := range alive {
			if a.Hub != s.Hub && !a.open && !a.end.Add(-o.Skew).After(s.Time) {
				continue // told by two clocks
			}
			if a.Target == s.Target && a.strict == s.strict && (a.Hub != s.Hub || a.Key != s.Key) && !fenced(a, s, over) {
				errs = append(errs, fmt.Errorf("two setup keys at once on target %q: %v, and %v", s.Target, a.Event, s.Event))
			}
		}
		alive = append(alive, s)
	}
	return errs
}

// fenced says whether a hub took the Lease over from that of one of two runs before the other was let start: its tasks
// change nothing any more. What acts is excused by nothing.
func fenced(a, b span, over []Event) bool {
	if a.strict {
		return false
	}
	old, young := a, b
	if old.Fence > young.Fence {
		old, young = young, old
	}
	return slices.ContainsFunc(over, func(t Event) bool {
		return t.Target == old.Target && t.From == old.Hub && t.Fence > old.Fence && t.Fence <= young.Fence
	})
}

// place is a target as one hub sees it: hubs divide it among them.
type place struct{ hub, target string }

func placeOf(e Event) place { return place{e.Hub, e.Target} }

// quotas must cover what runs hold, of every hub and resource.
func quotas(events []Event, o Options) []error {
	var errs []error
	quota := map[place][]Event{}
	for _, e := range events {
		if e.Kind == Quota {
			quota[placeOf(e)] = append(quota[placeOf(e)], e)
		}
	}
	holds := map[place]map[string]Event{} // by place and run: how it was let start
	for _, e := range events {
		at := placeOf(e)
		switch old, known := holds[at][e.Run]; e.Kind {
		case Started:
			if known {
				continue
			}
			if holds[at] == nil {
				holds[at] = map[string]Event{}
			}
			holds[at][e.Run] = e
			errs = append(errs, exceeded(holds[at], most(quota[at], e.Time, o.Lag), e)...)
		case Idle:
			if known {
				old.Amounts = nil
				holds[at][e.Run] = old
			}
		case Released, Forced:
			delete(holds[at], e.Run)
		}
	}
	return errs
}

// most is the largest of the quotas that counted at a moment, give or take lag.
func most(quotas []Event, at time.Time, lag time.Duration) map[string]int64 {
	out := map[string]int64{}
	for i, q := range quotas {
		if q.Time.After(at.Add(lag)) || i+1 < len(quotas) && quotas[i+1].Time.Before(at.Add(-lag)) {
			continue // it counted not yet, or no more
		}
		for name, n := range q.Amounts {
			out[name] = max(out[name], n)
		}
	}
	return out
}

// exceeded returns an error for each resource of which the runs hold more than the quota, now that e was let start.
func exceeded(holds map[string]Event, quota map[string]int64, e Event) []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(e.Amounts)) {
		var used int64
		var others []string
		for _, run := range slices.Sorted(maps.Keys(holds)) {
			h := holds[run]
			used += h.Amounts[name]
			if run != e.Run && h.Amounts[name] > 0 {
				others = append(others, fmt.Sprintf("%s with %d since %s", run, h.Amounts[name], h.Time.UTC().Format(clock)))
			}
		}
		if limit, known := quota[name]; known && used > limit {
			errs = append(errs, fmt.Errorf("more than the quota of %d %s is in use: %d, by %v, and %s",
				limit, name, used, e, cmp.Or(strings.Join(others, ", "), "nobody else")))
		}
	}
	return errs
}

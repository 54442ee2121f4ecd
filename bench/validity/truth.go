package main

import (
	"fmt"
	"slices"
	"sort"

	"bflow.dev/bflow/bench/truth"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// real are the numbers of a stage as the packets tell them.
type real struct {
	ttft, itl, e2e []float64 // ms, in order
	off            float64   // by what share the load was another than was asked
}

// realOf measures the requests of a stage by their packets. anchor is the wall time, in ns, of the zero of their rows.
// A load is another than was asked by the time in which a place was empty that should not have been: between two
// requests of a stream in a closed loop, from the time at which a request was due in an open one, which is load at
// another time.
func realOf(pairs []truth.Pair, packets map[int64][]packet, stage *report.StageResult, anchor int64) (real, error) {
	var out real
	var busy, idle, late float64
	within := 0
	for _, p := range pairs {
		seen, err := follow(p, packets[p.Truth.Port])
		if err != nil {
			return out, err
		}
		out.ttft = append(out.ttft, ms(seen.events[0]-seen.sent))
		out.e2e = append(out.e2e, ms(seen.end-seen.sent))
		for i := 1; i < len(seen.events); i++ {
			out.itl = append(out.itl, ms(seen.events[i]-seen.events[i-1]))
		}
		if w := stage.Window; seen.sent >= w.StartNS && seen.sent < w.EndNS {
			within++
		}
		busy += ms(seen.end - seen.sent)
		late += max(0, ms(seen.sent-anchor-p.Row.TIntended))
		if seen.before > 0 {
			idle += ms(seen.sent - seen.before)
		}
	}
	for _, xs := range [][]float64{out.ttft, out.itl, out.e2e} {
		slices.Sort(xs)
	}
	if stage.Planned.Shape == runplan.ShapeClosed {
		out.off = idle / (idle + busy)
		return out, nil
	}
	out.off = late / (late + busy)
	if offered := stage.Rates["offered_rate"]; offered > 0 {
		out.off = max(out.off, 1-float64(within)/(offered*seconds(stage.Window)))
	}
	return out, nil
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }

func seconds(w report.Window) float64 { return float64(w.EndNS-w.StartNS) / 1e9 }

// followed is one request on the wire. Times are wall clock in ns.
type followed struct {
	before int64 // end of the answer before it on its connection, 0 = none
	sent   int64
	events []int64
	end    int64
}

// follow finds the packets of a request: those of its connection around the times at which the engine says that it read
// the request and wrote each event. A request of a bench is one segment.
func follow(p truth.Pair, packets []packet) (followed, error) {
	var f followed
	t := p.Truth
	wall := t.ArrivalUnix - t.Arrival
	from := sort.Search(len(packets), func(i int) bool { return packets[i].at > t.ArrivalRead+wall }) - 1
	for from >= 0 && !packets[from].client {
		from--
	}
	if from < 0 {
		return f, fmt.Errorf("request %q is not among the packets of port %d", p.Row.ID, t.Port)
	}
	if f.sent = packets[from].at; from > 0 && !packets[from-1].client {
		f.before = packets[from-1].at
	}
	at := from
	for _, e := range t.Events {
		for at < len(packets) && (packets[at].client || packets[at].at < t.Arrival+e+wall) {
			at++
		}
		if at == len(packets) {
			return f, fmt.Errorf("an event of request %q is not among the packets of port %d", p.Row.ID, t.Port)
		}
		f.events = append(f.events, packets[at].at)
	}
	if len(f.events) == 0 {
		return f, fmt.Errorf("request %q has no event", p.Row.ID)
	}
	for ; at < len(packets) && !packets[at].client; at++ {
		f.end = packets[at].at
	}
	return f, nil
}

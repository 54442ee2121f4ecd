package truth

import (
	"math"
	"slices"
	"time"

	"bflow.dev/bflow/report"
)

// part is one stage of one sample: its rows, and its window [from, to) in ns since the anchor of the rows.
type part struct {
	rows     []report.Row
	open     bool // the schedule decides who belongs to the window, else the send
	from, to int64
}

// limits are the objectives of a good request, the first and the last from the intended send.
type limits struct{ ttft, tpot, e2e time.Duration }

// figures are what the definitions give for some parts together.
type figures struct {
	status            map[string]int
	total, good, of   int
	quick, paced      int                  // answers that met the objective for ttft, for tpot
	values            map[string][]float64 // one per request, in the units of the report
	perToken          map[string][]float64 // the request's value once for each of its tokens
	gaps, gapsMS      float64              // number and sum of the gaps between token events
	longestGap        float64
	tokensIn, goodOut float64
	seconds           float64
	inWindow          map[string]float64 // totals over the windows
	unsure            float64            // tokens of which the rows do not tell whether they came inside the windows
	inFlightSeconds   float64
}

func recompute(parts []part, slo limits) figures {
	f := figures{
		status: map[string]int{}, values: map[string][]float64{}, perToken: map[string][]float64{},
		inWindow: map[string]float64{},
	}
	for _, p := range parts {
		f.seconds += float64(p.to-p.from) / 1e9
		for i := range p.rows {
			f.flow(&p, &p.rows[i])
			if p.measures(&p.rows[i]) {
				f.request(&p.rows[i], slo)
			}
		}
	}
	return f
}

func (p *part) measures(r *report.Row) bool {
	at := r.TIntended
	if !p.open && r.TSend != nil {
		at = *r.TSend
	}
	return p.holds(at)
}

func (p *part) holds(at int64) bool { return at >= p.from && at < p.to }

// flow adds what a request of any phase did inside the window.
func (f *figures) flow(p *part, r *report.Row) {
	count := func(name string, at *int64, n float64) {
		if at != nil && p.holds(*at) {
			f.inWindow[name] += n
		}
	}
	count("offered_rate", &r.TIntended, 1)
	count("achieved_rate", r.TSend, 1)
	if r.Status == report.StatusOK {
		count("request_rate", r.TEnd, 1)
	}
	if r.TokensIn != nil {
		count("input_token_rate", r.TFirst, float64(*r.TokensIn))
	}
	if r.Events != nil { // the rows do not hold every arrival: they are taken to be evenly spaced, one token each
		for i := range *r.Events {
			at := *r.TFirst
			if *r.Events > 1 {
				at += (*r.TLast - *r.TFirst) * int64(i) / int64(*r.Events-1)
			}
			count("output_token_rate", &at, 1)
		}
		if p.holds(*r.TFirst) != p.holds(*r.TLast) {
			f.unsure += unevenness(r)
		}
	}
	if r.TSend != nil && r.TEnd != nil {
		f.inFlightSeconds += max(0, float64(min(*r.TEnd, p.to)-max(*r.TSend, p.from))/1e9)
	}
}

// unevenness returns how many tokens of an answer can have come before, or after, the moment that even spacing gives
// them: where k gaps are as long as the longest and the others are nothing, n-1 gaps of mean g have put
// (n-1)(1-g/longest) tokens off their places.
func unevenness(r *report.Row) float64 {
	gaps := float64(*r.Events - 1)
	meanGap := ms(*r.TLast-*r.TFirst) / gaps
	return min(gaps, 1+gaps*(1-meanGap/max(meanGap, *r.ITLMax)))
}

// outTolerance returns by which share of itself the rate of output tokens may differ: 2 %, or what the rows leave open.
func (f *figures) outTolerance() float64 { return max(0.02, f.unsure/f.inWindow["output_token_rate"]) }

// request adds a measured one.
func (f *figures) request(r *report.Row, slo limits) {
	f.total++
	f.status[r.Status]++
	if r.TokensIn != nil {
		f.tokensIn += float64(*r.TokensIn)
	}
	f.judge(r, slo)
	if r.TSend != nil {
		f.add("queue_wait", float64(r.QueueWait)/1e6)
		f.add("sched_lag", float64(*r.TSend-r.TIntended-r.QueueWait-r.Dial)/1e6)
	}
	if r.Status != report.StatusOK {
		return
	}
	n, e2e, toFirst := float64(*r.TokensOut), ms(*r.TEnd-*r.TSend), ms(*r.TFirst-*r.TSend)
	toLast, decode := ms(*r.TLast-*r.TSend), ms(*r.TLast-*r.TFirst)
	f.add("ttft", toFirst)
	f.add("ttft_intended", ms(*r.TFirst-r.TIntended))
	f.add("ttfc", ms(*r.TContent-*r.TSend))
	f.add("ttfb", ms(*r.TFirstByte-*r.TSend))
	f.add("e2e", e2e)
	f.add("e2e_intended", ms(*r.TEnd-r.TIntended))
	f.add("e2e_last_token", toLast)
	f.add("tpot_incl", toLast/n)
	f.add("ntpot", e2e/n)
	f.add("tokens_out", n)
	f.add("tokens_in", float64(*r.TokensIn))
	f.add("output_rate_user", n/e2e*1000)
	f.add("total_rate_user", (n+float64(*r.TokensIn))/e2e*1000)
	f.perToken["tpot_incl"] = append(f.perToken["tpot_incl"], slices.Repeat([]float64{toLast / n}, int(n))...)
	if n > 1 {
		f.add("tpot", decode/(n-1))
		f.perToken["tpot"] = append(f.perToken["tpot"], slices.Repeat([]float64{decode / (n - 1)}, int(n-1))...)
		f.gaps += float64(*r.Events - 1)
		// Gaps lie between stamps that are rounded to microseconds.
		f.gapsMS += math.Round(float64(*r.TLast)/1e3)/1e3 - math.Round(float64(*r.TFirst)/1e3)/1e3
		f.longestGap = max(f.longestGap, *r.ITLMax)
	}
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }

func (f *figures) add(metric string, v float64) { f.values[metric] = append(f.values[metric], v) }

// judge counts good requests. Those that the end of the stage cut off count nowhere.
func (f *figures) judge(r *report.Row, slo limits) {
	switch r.Status {
	case report.StatusFailed, report.StatusTimeout, report.StatusEmpty:
		f.of++
	case report.StatusOK:
		f.of++
		n := *r.TokensOut
		if *r.TFirst-r.TIntended <= int64(slo.ttft) {
			f.quick++
		}
		slow := n > 1 && float64(*r.TLast-*r.TFirst)/float64(n-1) > float64(slo.tpot)
		if n > 1 && !slow {
			f.paced++
		}
		if *r.TFirst-r.TIntended <= int64(slo.ttft) && *r.TEnd-r.TIntended <= int64(slo.e2e) && !slow {
			f.good++
			f.goodOut += float64(n)
		}
	}
}

func (f *figures) errorRate() float64 {
	bad := f.status[report.StatusFailed] + f.status[report.StatusTimeout] + f.status[report.StatusEmpty] +
		f.status[report.StatusDropped]
	return float64(bad) / float64(bad+f.status[report.StatusOK])
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// linear is the q-quantile by linear interpolation between order statistics.
func linear(xs []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	h := q * float64(len(s)-1)
	low, high := s[int(math.Floor(h))], s[int(math.Ceil(h))]
	return low + (high-low)*(h-math.Floor(h))
}

// step is the lowest value that at least the share q of the values does not exceed.
func step(xs []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return s[max(0, int(math.Ceil(q*float64(len(s))-1e-9))-1)]
}

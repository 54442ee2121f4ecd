package record

import (
	"time"

	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/report"
)

// account adds up the outcomes of a stage.
type account struct {
	in     *Stage
	window span
	store  *store
	dists  distributions
	all    int // requests of every phase
	total  int
	status tally
	class  tally
	source tally // of the measured requests
	tokens report.TokenSums
	good   *goodness
	shares *adapters

	inWindow struct{ done, sent, offered int }
	cameIn   float64 // input tokens whose first token event lies in the window
	out      float64 // output tokens that arrived in the window
	run      struct {
		ok          int
		in, out     int64
		first, last int64
		set         bool
	}
	flight  *flight
	series  *series
	sources tally  // of all requests
	stale   int    // requests put again on a new connection
	clocks  [2]int // requests with an answer, by user and kernel stamps
}

// newAccount starts an account that keeps its values in s.
func newAccount(in *Stage, w span, s *store) *account {
	a := &account{in: in, window: w, store: s, dists: distributions{store: s}, flight: newFlight(s),
		shares: newAdapters(in.Adapters, s),
		series: newSeries(in.Start, in.DrainEnd, s)}
	if in.Objectives != nil {
		a.good = newGoodness(*in.Objectives)
	}
	return a
}

func (a *account) add(o *Outcome, row *report.Row) {
	a.all++
	a.stale += int(o.StaleRetries)
	if o.FirstByte >= 0 && o.Kernel {
		a.clocks[1]++
	} else if o.FirstByte >= 0 {
		a.clocks[0]++
	}
	a.addFlows(o)
	a.series.add(o)
	if hasTokenCount(o) {
		a.sources.add(o.TokenSource)
	}
	if row.Phase != report.PhaseMeasured && row.Phase != report.PhaseUnmeasured {
		return
	}
	a.total++
	a.status.add(o.Status)
	if o.Class != "" {
		a.class.add(o.Class)
	}
	a.shares.add(o)
	a.sum(o)
	if o.Send >= 0 {
		a.dists.addSent(o)
	}
	if o.Status == report.StatusOK {
		a.dists.addOK(o)
		a.addWhole(o)
	}
	if a.good != nil {
		a.good.judge(o, row)
	}
}

// sum adds the tokens of a measured request.
func (a *account) sum(o *Outcome) {
	t := &a.tokens
	t.In += max(0, o.In)
	t.Out += max(0, o.Out)
	t.OutAsked += max(0, o.OutAsked)
	if o.Cached >= 0 && o.In > 0 {
		t.Cached += o.Cached
		t.CachedOf += o.In
	}
	if o.Out > 0 && !o.TokensAssumed && o.Events() > 0 {
		t.Hidden += max(0, o.Out-o.Streamed())
	}
	if o.InAsked > 0 && o.In > 0 {
		t.InAsked += o.InAsked
		t.InOfAsked += o.In
	}
	if hasTokenCount(o) {
		a.source.add(o.TokenSource)
	}
	if o.Status == report.StatusOK && o.OutAsked >= 0 && o.Out == o.OutAsked {
		t.ExactLength++
	}
}

// hasTokenCount says whether the source of a request's token count is one of the measurement's. A server that counts at
// the end of an answer has no count for one that broke off, which says nothing about the others.
func hasTokenCount(o *Outcome) bool { return o.Status == report.StatusOK && o.TokenSource != "" }

// addWhole adds an ok request to the rates over the whole run, drain included, that exports to other tools use.
func (a *account) addWhole(o *Outcome) {
	r := &a.run
	if !r.set || o.Send < r.first {
		r.first = o.Send
	}
	r.set = true
	r.last = max(r.last, o.End)
	r.ok++
	r.in += max(0, o.In)
	r.out += max(0, o.Out)
}

// addFlows adds what a request of any phase did inside the window.
func (a *account) addFlows(o *Outcome) {
	w := a.window
	if w.holds(o.Intended) {
		a.inWindow.offered++
	}
	if o.Send < 0 {
		return
	}
	if w.holds(o.Send) {
		a.inWindow.sent++
	}
	if o.Status == report.StatusOK && w.holds(o.End) {
		a.inWindow.done++
	}
	if at := processed(o); at >= 0 && o.In > 0 && w.holds(at) {
		a.cameIn += float64(o.In)
	}
	each := tokensPer(o)
	eachArrival(o, func(at, k int64) {
		tokens := float64(k) * each
		a.series.tokens[a.series.place(at)] += tokens
		if w.holds(at) {
			a.out += tokens
		}
	})
	a.flight.add(o.Send, endOf(o, a.in.DrainEnd))
}

// processed returns when the input of a request counts: at the first token event, at the end of an answer that did not
// stream; Absent where neither came.
func processed(o *Outcome) int64 {
	if o.First < 0 && o.Status == report.StatusOK {
		return o.End
	}
	return o.First
}

// endOf returns when a sent request left the server, as far as is known.
func endOf(o *Outcome, drainEnd int64) int64 {
	if o.End >= 0 {
		return o.End
	}
	return max(drainEnd, o.Send)
}

// eachArrival calls f with the stamp and tokens of each token event; an answer that did not stream arrives at its end.
func eachArrival(o *Outcome, f func(at, k int64)) {
	if o.First < 0 {
		if o.Out > 0 && o.End >= 0 {
			f(o.End, o.Out)
		}
		return
	}
	f(o.First, o.TokensOf(0))
	at := micros(o.First)
	for i, g := range o.Gaps {
		at += int64(g)
		f(1000*at, o.TokensOf(i+1))
	}
}

// tokensPer returns how many tokens stand behind one that a token event was taken for: where the server does not say
// how many an event holds, its final count is spread over them.
func tokensPer(o *Outcome) float64 {
	if streamed := o.Streamed(); o.TokensAssumed && o.Out > 0 && streamed > 0 {
		return float64(o.Out) / float64(streamed)
	}
	return 1
}

// summary closes the account. values is called with every distribution that has any, which is valid during the call.
func (a *account) summary(values func(metric string, d *report.Distribution) error) (*Summary, error) {
	in := a.in
	unix := func(ns int64) int64 { return in.AnchorUnixNS + ns }
	counts := report.Counts{Total: a.total, ByStatus: a.status.byWord(), ByClass: a.class.byWord(), All: a.all}
	a.tokens.Sources = a.source.byWord()
	r := report.StageResult{
		Sample: in.Sample, Stage: in.Index, Planned: in.Plan, Rate: in.Rate,
		StartNS: unix(in.Start), EndNS: unix(in.End), DrainEndNS: unix(in.DrainEnd),
		Window: report.Window{StartNS: unix(a.window.start), EndNS: unix(a.window.end), SkipFirst: in.Plan.SkipFirst,
			SkipLast: in.Plan.SkipLast},
		Counts: counts, Metrics: map[string]report.Metric{}, Rates: a.rates(), ErrorRate: counts.ErrorRate(),
		Series: a.series.finish(), Tokens: a.tokens, Checks: []report.Check{}, Adapters: a.shares.results(),
	}
	err := a.dists.each(func(names []string, d, timely *report.Distribution) error {
		m, ok := d.Metric()
		for _, name := range names {
			if ok {
				r.Metrics[name] = m
				r.Shifts = append(r.Shifts, shifts(name, m, timely)...)
			}
			if err := values(name, d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if m, ok := a.flight.metric(a.window.start, a.window.end); ok {
		r.Metrics["concurrency"] = m
	}
	if a.good != nil {
		r.Goodput = a.good.result(a.window.seconds())
	}
	return &Summary{
			Result: r, SourceCounts: a.sources.byWord(), StaleRetries: a.stale, User: a.clocks[0], Kernel: a.clocks[1],
		},
		a.store.firstError()
}

// rates returns the rates over the window, and over the run where a request ended well.
func (a *account) rates() map[string]float64 {
	rates := map[string]float64{}
	if s := a.window.seconds(); s > 0 {
		rates["request_rate"] = float64(a.inWindow.done) / s
		rates["output_token_rate"] = a.out / s
		rates["input_token_rate"] = a.cameIn / s
		rates["total_token_rate"] = (a.out + a.cameIn) / s
		rates["achieved_rate"] = float64(a.inWindow.sent) / s
		if shape.HasSchedule(a.in.Plan.Shape) {
			rates["offered_rate"] = float64(a.inWindow.offered) / s
		}
	}
	if s := time.Duration(a.run.last - a.run.first).Seconds(); a.run.ok > 0 && s > 0 {
		rates["request_rate_run"] = float64(a.run.ok) / s
		rates["output_token_rate_run"] = float64(a.run.out) / s
		rates["input_token_rate_run"] = float64(a.run.in) / s
		rates["total_token_rate_run"] = float64(a.run.in+a.run.out) / s
	}
	if share, ok := a.tokens.CacheHitRate(); ok {
		rates["cache_hit_rate"] = share
	}
	return rates
}

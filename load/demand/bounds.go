// Package demand says how much a plan asks for: which numbers of a load are beyond what load-gen can carry out, and how
// many bytes the results of a run take.
package demand

import (
	"fmt"
	"strconv"

	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/runplan"
)

// Bounds returns a sentence for each number of the load that is beyond what load-gen can carry out.
func Bounds(m *runplan.Measurement) []error {
	b := &bounds{}
	b.count("samples", m.Samples, runplan.MostRequests)
	b.length("samplePause", m.SamplePause)
	b.api(&m.API)
	b.data(&m.Data)
	if r := m.Record; r != nil {
		b.count("record.texts", r.Texts, runplan.MostRequests)
		b.length("record.slice", r.Slice)
	}
	for i := range m.Stages {
		b.stage(fmt.Sprintf("stages[%d]", i), &m.Stages[i])
	}
	if s := m.Search; s != nil {
		b.count("search.repeats", s.Repeats, runplan.MostRequests)
		b.number("search.high", s.High, runplan.MostAtOnce)
		if s.Level != nil {
			b.stage("search.level", s.Level)
		}
	}
	return b.problems
}

// bounds collects what is beyond them.
type bounds struct{ problems []error }

func (b *bounds) count(what string, n, most int) {
	if n > most {
		b.problems = append(b.problems, fmt.Errorf("%s is %d, want at most %d", what, n, most))
	}
}

func (b *bounds) number(what string, x, most float64) {
	if x > most {
		found := strconv.FormatFloat(x, 'f', -1, 64)
		b.problems = append(b.problems, fmt.Errorf("%s is %s, want at most %.0f", what, found, most))
	}
}

func (b *bounds) length(what string, d runplan.Duration) {
	if d.D() > runplan.LongestTime {
		b.problems = append(b.problems, fmt.Errorf("%s is %s, want at most ten years", what, d))
	}
}

func (b *bounds) tokens(what string, l *runplan.Length, most float64) {
	if l == nil {
		return
	}
	b.number(what+".mean", l.Mean, most)
	b.number(what+".stdev", l.Stdev, most)
	// The bounds that nobody gave lie five deviations from the mean.
	b.number(what+".min", float64(l.Min), 6*most)
	b.number(what+".max", float64(l.Max), 6*most)
}

func (b *bounds) api(a *runplan.API) {
	b.length("api.timeout", a.Timeout)
	b.length("api.connectTimeout", a.ConnectTimeout)
	b.length("api.readTimeout", a.ReadTimeout)
	if a.Retry != nil {
		b.count("api.retry.attempts", a.Retry.Attempts, runplan.MostRequests)
		b.length("api.retry.backoff", a.Retry.Backoff)
	}
	if a.Cancel != nil {
		b.length("api.cancel.after", a.Cancel.After)
	}
}

func (b *bounds) data(d *runplan.Data) {
	b.tokens("data.input", d.Input, runplan.MostTokens)
	b.tokens("data.firstInput", d.FirstInput, runplan.MostTokens)
	b.tokens("data.output", d.Output, runplan.MostRequests) // only a number in the request
	b.tokens("data.firstOutput", d.FirstOutput, runplan.MostRequests)
	b.prefixes("data", d.Prefixes)
	b.count("data.turns", d.Turns, runplan.MostRequests)
	b.count("data.conversations", d.Conversations, runplan.MostRequests)
	b.length("data.think", d.Think)
	if t := d.Trace; t != nil {
		b.count("data.trace.limit", t.Limit, runplan.MostRequests)
		b.count("data.trace.maxInput", t.MaxInput, runplan.MostRequests)
		b.count("data.trace.maxOutput", t.MaxOutput, runplan.MostRequests)
		b.count("data.trace.repeat", t.Repeat, runplan.MostRequests)
		b.length("data.trace.from", t.From)
		b.length("data.trace.to", t.To)
	}
	if d.File != nil {
		b.count("data.file.limit", d.File.Limit, runplan.MostRequests)
	}
	if i := d.Images; i != nil {
		b.count("data.images.count", i.Count, runplan.MostImages)
		b.count("data.images.width", i.Width, runplan.MostPixels)
		b.count("data.images.height", i.Height, runplan.MostPixels)
	}
}

func (b *bounds) prefixes(of string, list []runplan.Prefix) {
	for i, p := range list {
		b.count(fmt.Sprintf("%s.prefixes[%d].count", of, i), p.Count, runplan.MostRequests)
		b.count(fmt.Sprintf("%s.prefixes[%d].tokens", of, i), p.Tokens, runplan.MostTokens)
	}
}

func (b *bounds) stage(at string, s *runplan.Stage) {
	requests, inFlight := shape.Most(s)
	b.count(at+".requests", s.Requests, requests)
	b.count(at+".maxInflight", s.MaxInflight, inFlight)
	b.count(at+".concurrency", s.Concurrency, runplan.MostAtOnce)
	b.number(at+".rate", s.Rate, runplan.MostAtOnce)
	b.number(at+".rampFrom", s.RampFrom, runplan.MostAtOnce)
	b.count(at+".skipFirst", s.SkipFirst.Requests, runplan.MostRequests)
	b.count(at+".skipLast", s.SkipLast.Requests, runplan.MostRequests)
	b.prefixes(at, s.Prefixes)
	b.length(at+".duration", s.Duration)
	b.length(at+".ramp", s.Ramp)
	b.length(at+".pauseAfter", s.PauseAfter)
	b.length(at+".skipFirst", s.SkipFirst.Duration)
	b.length(at+".skipLast", s.SkipLast.Duration)
	if s.Drain != nil {
		b.length(at+".drain", *s.Drain)
	}
}

package runplan

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// The most that a load may ask for. Above it times in nanoseconds overflow, or requests, streams and words are made one by
// one and never come to an end.
const (
	MostRequests = math.MaxInt32 // of a stage; it also bounds every other number that only counts
	MostAtOnce   = 1_000_000     // requests in flight, or in a second: ten times what one host has ever sent
	MostTokens   = 10_000_000    // of one prompt: ten times what a model reads
	MostImages   = 1_000         // of one request
	MostPixels   = 8_192         // of a side of one
	LongestTime  = 10 * 365 * 24 * time.Hour
)

// Bounds returns a sentence for each number of the load that is beyond what load-gen can carry out.
func (m *Measurement) Bounds() []error {
	b := &bounds{}
	b.count("samples", m.Samples, MostRequests)
	b.length("samplePause", m.SamplePause)
	b.api(&m.API)
	b.data(&m.Data)
	if r := m.Record; r != nil {
		b.count("record.texts", r.Texts, MostRequests)
		b.length("record.slice", r.Slice)
	}
	for i := range m.Stages {
		b.stage(fmt.Sprintf("stages[%d]", i), &m.Stages[i])
	}
	if s := m.Search; s != nil {
		b.count("search.repeats", s.Repeats, MostRequests)
		b.number("search.high", s.High, MostAtOnce)
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
		b.problems = append(b.problems, fmt.Errorf("%s is %s, want at most %.0f", what, strconv.FormatFloat(x, 'f', -1, 64), most))
	}
}

func (b *bounds) length(what string, d Duration) {
	if d.D() > LongestTime {
		b.problems = append(b.problems, fmt.Errorf("%s is %s, want at most ten years", what, d))
	}
}

func (b *bounds) tokens(what string, l *Length, most float64) {
	if l == nil {
		return
	}
	b.number(what+".mean", l.Mean, most)
	b.number(what+".stdev", l.Stdev, most)
	// The bounds that nobody gave lie five deviations from the mean.
	b.number(what+".min", float64(l.Min), 6*most)
	b.number(what+".max", float64(l.Max), 6*most)
}

func (b *bounds) api(a *API) {
	b.length("api.timeout", a.Timeout)
	b.length("api.connectTimeout", a.ConnectTimeout)
	b.length("api.readTimeout", a.ReadTimeout)
	if a.Retry != nil {
		b.count("api.retry.attempts", a.Retry.Attempts, MostRequests)
		b.length("api.retry.backoff", a.Retry.Backoff)
	}
	if a.Cancel != nil {
		b.length("api.cancel.after", a.Cancel.After)
	}
}

func (b *bounds) data(d *Data) {
	b.tokens("data.input", d.Input, MostTokens)
	b.tokens("data.firstInput", d.FirstInput, MostTokens)
	b.tokens("data.output", d.Output, MostRequests) // only a number in the request
	b.tokens("data.firstOutput", d.FirstOutput, MostRequests)
	b.prefixes("data", d.Prefixes)
	b.count("data.turns", d.Turns, MostRequests)
	b.count("data.conversations", d.Conversations, MostRequests)
	b.length("data.think", d.Think)
	if t := d.Trace; t != nil {
		b.count("data.trace.limit", t.Limit, MostRequests)
		b.count("data.trace.maxInput", t.MaxInput, MostRequests)
		b.count("data.trace.maxOutput", t.MaxOutput, MostRequests)
		b.count("data.trace.repeat", t.Repeat, MostRequests)
		b.length("data.trace.from", t.From)
		b.length("data.trace.to", t.To)
	}
	if d.File != nil {
		b.count("data.file.limit", d.File.Limit, MostRequests)
	}
	if i := d.Images; i != nil {
		b.count("data.images.count", i.Count, MostImages)
		b.count("data.images.width", i.Width, MostPixels)
		b.count("data.images.height", i.Height, MostPixels)
	}
}

func (b *bounds) prefixes(of string, list []Prefix) {
	for i, p := range list {
		b.count(fmt.Sprintf("%s.prefixes[%d].count", of, i), p.Count, MostRequests)
		b.count(fmt.Sprintf("%s.prefixes[%d].tokens", of, i), p.Tokens, MostTokens)
	}
}

func (b *bounds) stage(at string, s *Stage) {
	requests, inFlight := MostRequests, MostRequests
	if s.Shape == ShapeThroughput { // each is a slot of its own
		inFlight = MostAtOnce
		if s.MaxInflight == 0 {
			requests = MostAtOnce
		}
	}
	b.count(at+".requests", s.Requests, requests)
	b.count(at+".maxInflight", s.MaxInflight, inFlight)
	b.count(at+".concurrency", s.Concurrency, MostAtOnce)
	b.number(at+".rate", s.Rate, MostAtOnce)
	b.number(at+".rampFrom", s.RampFrom, MostAtOnce)
	b.count(at+".skipFirst", s.SkipFirst.Requests, MostRequests)
	b.count(at+".skipLast", s.SkipLast.Requests, MostRequests)
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

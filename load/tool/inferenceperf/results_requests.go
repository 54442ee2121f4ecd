package inferenceperf

import (
	"cmp"
	"context"
	"encoding/json"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// failures counts what did not end well under the class of its error; the tool has its label of the status there.
func (t *totals) failures(ctx context.Context) failures {
	out := failures{ByLabel: map[string]label{}, Prompt: values{}}
	for _, s := range t.stages {
		out.Count += s.Counts.Failed() - s.Counts.ByStatus[report.StatusDropped]
	}
	took, prompts := report.NewDistribution("s"), report.NewDistribution("tokens")
	for r := range t.requests() {
		if !failed(r) {
			continue
		}
		if r.TSend != nil && r.TEnd != nil {
			took.Add(float64(*r.TEnd-*r.TSend) / 1e9)
		}
		if r.TokensIn != nil {
			prompts.Add(float64(*r.TokensIn))
		}
		out.ByLabel[class(r)] = label{Count: out.ByLabel[class(r)].Count + 1, Messages: []message{}}
	}
	t.messages(ctx, out.ByLabel)
	total := 0.0
	if m, ok := prompts.Metric(); ok {
		out.Prompt, total = t.valuesOf(m, 1), m.Sum
	}
	out.Prompt.setTotals(total, 0)
	out.Latency = t.statistics(took, 1)
	return out
}

// messages gives each label the first text of an error that there is.
func (t *totals) messages(ctx context.Context, labels map[string]label) {
	found := map[string]bool{}
	for _, s := range t.stages {
		for r, err := range s.Requests.Only(failed).All(ctx) {
			if err != nil {
				t.err = err
				return
			}
			if name := class(r); r.Error != "" && !found[name] {
				found[name] = true
				labels[name] = label{Count: labels[name].Count, Messages: []message{{Message: r.Error}}}
			}
			if len(found) == len(labels) {
				return
			}
		}
	}
}

func failed(r *report.Row) bool {
	return r.Status == report.StatusFailed || r.Status == report.StatusTimeout || r.Status == report.StatusEmpty
}

func class(r *report.Row) string {
	return cmp.Or(r.ErrorClass, r.Status)
}

// requestWriter makes entries of the list of requests. It has one entry, which each row overwrites.
type requestWriter struct {
	ttfc, e2e, tpot, ntpot tools.Number
	request                request
	failure                requestError
	computed               computed
	start, end             float64
	tokensIn, tokensOut    int // 0 where they are not known
	tokens                 int
	times                  []float64
}

func newRequestWriter() *requestWriter {
	n := tools.Numbers()
	return &requestWriter{ttfc: n["ttfc"], e2e: n["e2e"], tpot: n["tpot"], ntpot: n["ntpot"], times: []float64{}}
}

// requestOf is the entry of a row. Times are s on the monotonic clock of the measurement, as the tool's are. Prompts
// and answers are not kept.
func (w *requestWriter) requestOf(stage int, r *report.Row) *request {
	w.start, w.end = at(r.TSend, &r.TIntended), at(r.TEnd, r.TLast, r.TSend, &r.TIntended)
	w.tokensIn, w.tokensOut = value(r.TokensIn), value(r.TokensOut)
	w.request = request{Computed: &w.computed, End: &w.end, Info: w.info(stage, r), Request: json.RawMessage(`""`),
		Start: &w.start}
	w.compute(r)
	if r.Status != report.StatusOK {
		w.failure = requestError{Type: class(r), Message: r.Error}
		w.request.Error = &w.failure
	}
	return &w.request
}

func (w *requestWriter) info(stage int, r *report.Row) info {
	said := usage{Completion: r.TokensOut, Prompt: r.TokensIn}
	if r.TokensOut != nil {
		w.tokens = *r.TokensOut + w.tokensIn
		said.Total = &w.tokens
	}
	var which string
	w.times, which = appendEventTimes(w.times[:0], r)
	return info{InputTokens: &w.tokensIn, Labels: json.RawMessage("{}"),
		Extra:       extraInfo{ExportedBy: tools.ExportedBy, ID: &r.ID, Stage: &stage, Times: which},
		RequestInfo: requestInfo{Text: textInfo{InputTokens: &w.tokensIn}},
		Response: responseInfo{ChunkTimes: w.times, TokenTimes: w.times, OutputTokens: &w.tokensOut,
			Chunks: json.RawMessage("[]"), Usage: said}}
}

// ends says that of the stamps of events only the first and the last are known.
const ends = "first and last token"

// appendEventTimes appends the stamps of token events in s: all where the gaps were recorded.
func appendEventTimes(times []float64, r *report.Row) (all []float64, which string) {
	if r.TFirst == nil {
		return times, ends
	}
	times = append(times, float64(*r.TFirst)/1e9)
	at := *r.TFirst
	for _, g := range r.Gaps {
		at += int64(g) * 1e3
		times = append(times, float64(at)/1e9)
	}
	switch {
	case r.TLast == nil:
	case len(r.Gaps) > 0:
		times[len(times)-1] = float64(*r.TLast) / 1e9
		return times, "every token event"
	default:
		times = append(times, float64(*r.TLast)/1e9)
	}
	return times, ends
}

func at(stamps ...*int64) float64 {
	if t := cmp.Or(stamps...); t != nil {
		return float64(*t) / 1e9
	}
	return 0
}

func value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// compute sets the latencies of the request in s; what does not exist is left out.
func (w *requestWriter) compute(r *report.Row) {
	seconds := func(n tools.Number) *float64 {
		v, ok := n(r)
		if !ok {
			return nil
		}
		return new(v / 1e3)
	}
	w.computed = computed{InputTokens: r.TokensIn, NormalizedPerToken: seconds(w.ntpot), OutputTokens: r.TokensOut,
		Request: seconds(w.e2e), PerToken: seconds(w.tpot), FirstToken: seconds(w.ttfc)}
}

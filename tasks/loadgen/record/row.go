package record

import (
	"fmt"
	"slices"

	"bflow.dev/bflow/tasks/report"
)

// Names are what rows spell out and outcomes only number.
type Names struct {
	Prefix   string   // of the ids of the stage
	Adapters []string // of the plan
}

// Row returns the row of an outcome, whose gaps it sorts.
func Row(o *Outcome, names Names, sample, stage int, phase string) report.Row {
	r := report.Row{
		ID: string(o.AppendID(nil, names.Prefix)), Sample: sample, Stage: stage, Session: int(o.Session), Turn: int(o.Turn), Slot: int(o.Slot),
		Phase: phase, Status: o.Status, ErrorClass: o.Class, HTTPStatus: int(o.HTTPStatus), Error: o.Error,
		TIntended: o.Intended, TSend: stamp(o.Send), TSent: stamp(o.Sent), TFirstByte: stamp(o.FirstByte),
		TFirst: stamp(o.First), TContent: stamp(o.Content), TLast: stamp(o.Last), TEnd: stamp(o.End),
		QueueWait: o.QueueWait, Dial: o.Dial, ClientLagMax: max(0, o.LagMax), Retries: int(o.Retries),
		TokensInAsked: count(o.InAsked), TokensIn: count(o.In), TokensCached: count(o.Cached),
		TokensOutAsked: count(o.OutAsked), TokensOut: count(o.Out), TokensReasoning: count(o.Reasoning),
		TokenSource: o.TokenSource, FinishReason: o.Finish, EndpointPod: o.Pod, BytesOut: o.BytesOut, BytesIn: o.BytesIn,
		Conn: int(o.Conn), ConnReused: o.Reused == 1,
		PrefixBucket: count(o.PrefixBucket), PrefixIndex: count(o.PrefixIndex),
	}
	if o.PromptHash != 0 {
		r.PromptHash = fmt.Sprintf("%016x", o.PromptHash)
	}
	if o.Adapter >= 0 && int(o.Adapter) < len(names.Adapters) {
		r.Adapter = names.Adapters[o.Adapter]
	}
	if o.Events() > 0 {
		events := o.Events()
		r.Events = &events
		if hidden := int(o.Out - o.Streamed()); o.Out >= 0 && !o.TokensAssumed && hidden >= 0 {
			r.TokensHidden = &hidden
		}
	}
	gapsOf(o, &r)
	return r
}

func gapsOf(o *Outcome, r *report.Row) {
	if len(o.Gaps) == 0 {
		return
	}
	sorted := make([]float64, len(o.Gaps))
	sum := 0.0
	for i, g := range o.Gaps {
		sorted[i] = ms(1000 * int64(g))
		sum += sorted[i]
	}
	slices.Sort(sorted)
	mean, p50, p99, longest := sum/float64(len(sorted)), report.Percentile(sorted, 50), report.Percentile(sorted, 99), sorted[len(sorted)-1]
	r.ITLMean, r.ITLP50, r.ITLP99, r.ITLMax = &mean, &p50, &p99, &longest
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }

func stamp(ns int64) *int64 {
	if ns < 0 {
		return nil
	}
	return &ns
}

func count(n int64) *int {
	if n < 0 {
		return nil
	}
	v := int(n)
	return &v
}

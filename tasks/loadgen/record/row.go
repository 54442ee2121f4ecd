package record

import (
	"encoding/hex"
	"slices"
	"unsafe"

	"bflow.dev/bflow/report"
)

// Names are what rows spell out and outcomes only number.
type Names struct {
	Prefix   string   // of the ids of the stage
	Adapters []string // of the plan
}

// Row returns the row of an outcome.
func Row(o *Outcome, names Names, sample, stage int, phase string) report.Row {
	m := rows{names: names, sample: sample, stage: stage}
	return *m.make(o, phase)
}

// rows makes rows without leaving garbage: a row and all that it points to lives until the next is made.
type rows struct {
	names         Names
	sample, stage int
	gaps          bool // rows show every gap

	row    report.Row
	id     []byte
	hash   [16]byte
	stamps [7]int64
	counts [10]int
	itl    [4]float64
	sorted []int32
}

func (m *rows) make(o *Outcome, phase string) *report.Row {
	m.id = o.AppendID(m.id[:0], m.names.Prefix)
	m.row = report.Row{
		ID: text(m.id), Sample: m.sample, Stage: m.stage, Session: int(o.Session), Turn: int(o.Turn), Slot: int(o.Slot),
		Phase: phase, Status: o.Status, ErrorClass: o.Class, HTTPStatus: int(o.HTTPStatus), Error: o.Error,
		TIntended: o.Intended, QueueWait: o.QueueWait, Dial: o.Dial, ClientLagMax: max(0, o.LagMax),
		TokenSource: o.TokenSource, FinishReason: o.Finish, EndpointPod: o.Pod, BytesOut: o.BytesOut, BytesIn: o.BytesIn,
		Conn: int(o.Conn), ConnReused: o.Reused == 1, Retries: int(o.Retries), PromptHash: m.promptHash(o),
	}
	r := &m.row
	for i, s := range [...]struct {
		to   **int64
		from int64
	}{{&r.TSend, o.Send}, {&r.TSent, o.Sent}, {&r.TFirstByte, o.FirstByte}, {&r.TFirst, o.First}, {&r.TContent, o.Content},
		{&r.TLast, o.Last}, {&r.TEnd, o.End}} {
		if m.stamps[i] = s.from; s.from >= 0 {
			*s.to = &m.stamps[i]
		}
	}
	events, hidden := int64(Absent), int64(Absent)
	if n := o.Events(); n > 0 {
		events = int64(n)
		if o.Out >= 0 && !o.TokensAssumed {
			hidden = o.Out - o.Streamed()
		}
	}
	for i, c := range [...]struct {
		to   **int
		from int64
	}{{&r.TokensInAsked, o.InAsked}, {&r.TokensIn, o.In}, {&r.TokensCached, o.Cached}, {&r.TokensOutAsked, o.OutAsked},
		{&r.TokensOut, o.Out}, {&r.TokensReasoning, o.Reasoning}, {&r.TokensHidden, hidden}, {&r.Events, events},
		{&r.PrefixBucket, o.PrefixBucket}, {&r.PrefixIndex, o.PrefixIndex}} {
		if m.counts[i] = int(c.from); c.from >= 0 {
			*c.to = &m.counts[i]
		}
	}
	if o.Adapter >= 0 && int(o.Adapter) < len(m.names.Adapters) {
		r.Adapter = m.names.Adapters[o.Adapter]
	}
	m.gapsOf(o)
	return r
}

func (m *rows) promptHash(o *Outcome) string {
	if o.PromptHash == 0 {
		return ""
	}
	var b [8]byte
	for i := range b {
		b[i] = byte(o.PromptHash >> (56 - 8*i))
	}
	hex.Encode(m.hash[:], b[:])
	return text(m.hash[:])
}

// text is b as a string that changes when b does.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func (m *rows) gapsOf(o *Outcome) {
	if len(o.Gaps) == 0 {
		return
	}
	if m.gaps {
		m.row.Gaps = o.Gaps
	}
	m.sorted = append(m.sorted[:0], o.Gaps...)
	slices.Sort(m.sorted)
	sum := int64(0)
	for _, g := range m.sorted {
		sum += int64(g)
	}
	n := len(m.sorted)
	m.itl = [4]float64{
		ms(1000*sum) / float64(n), gapAt(m.sorted, 50), gapAt(m.sorted, 99), ms(1000 * int64(m.sorted[n-1])),
	}
	m.row.ITLMean, m.row.ITLP50 = &m.itl[0], &m.itl[1]
	m.row.ITLP99, m.row.ITLMax = &m.itl[2], &m.itl[3]
}

// gapAt returns the p-th percentile in ms of gaps in order.
func gapAt(sorted []int32, p float64) float64 {
	i, part := report.Place(len(sorted), p)
	low := ms(1000 * int64(sorted[i]))
	if part == 0 {
		return low
	}
	return low + part*(ms(1000*int64(sorted[i+1]))-low)
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }

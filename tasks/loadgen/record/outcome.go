// Package record stores the outcomes of requests: it spills them to disk while the load runs, and afterwards derives
// rows, distributions and the numbers of a stage from them. It must not send anything or read a clock.
package record

import (
	"math"
	"slices"
	"strconv"
)

// Absent is the value of a stamp or count that does not exist.
const Absent = -1

// Outcome is what one request did. The id of its request is the prefix of the stage, Session and Turn, see ID. Stamps
// are nanoseconds since the anchor of the measurement; stamps and counts are Absent where the thing did not happen. A
// token event is an event of the stream that brought at least one token.
type Outcome struct {
	Index, Session, Turn, Slot int64
	Intended                   int64
	QueueWait, Dial            int64
	Send, Sent, FirstByte      int64
	First, Content, Last, End  int64
	HTTPStatus                 int64
	InAsked, In, Cached        int64
	OutAsked, Out, Reasoning   int64
	BytesOut, BytesIn          int64
	Conn, Reused, StaleRetries int64
	Retries                    int64 // times that it was put again by the retry policy
	LagMax                     int64 // largest user stamp minus kernel stamp, ns; Absent without kernel stamps
	// ns by which First and End are later than the kernel had them: 0 where their stamps are its own
	LateFirst, LateEnd int64
	// token events that a read that was late brought together with the first, and behind it
	Behind int64
	// token events that late reads brought together with an earlier one, Behind among them
	Bunched                   int64
	Within                    int64 // ns before their common stamp in which events that came together came, at most
	Adapter                   int64 // index into the adapters of the plan
	PrefixBucket, PrefixIndex int64
	Status, Class, Error      string // words of package report
	Finish, Pod, TokenSource  string
	PromptHash                uint64  // 0 = none
	Gaps                      []int32 // µs between token events, one less than these
	Tokens                    []int64 // of each token event; empty = one each
	Late                      []int32 // µs by which token events are later than the kernel had them; empty = none is
	TokensAssumed             bool    // the server did not say how many tokens an event holds
	Kernel                    bool    // stamps of arrival are the kernel's
	Text                      []byte  // of the answer, where the next turn needs it; not spilled
}

// Reset makes o the outcome of a request of which nothing is known yet, keeping its buffers.
func (o *Outcome) Reset() {
	gaps, tokens := o.Gaps[:0], o.Tokens[:0]
	late, text := o.Late[:0], o.Text[:0]
	*o = Outcome{Gaps: gaps, Tokens: tokens, Late: late, Text: text}
	for _, p := range []*int64{&o.Send, &o.Sent, &o.FirstByte, &o.First, &o.Content, &o.Last, &o.End, &o.InAsked, &o.In,
		&o.Cached, &o.OutAsked, &o.Out, &o.Reasoning, &o.PrefixBucket, &o.PrefixIndex, &o.LagMax, &o.Adapter} {
		*p = Absent
	}
}

// Held returns how many bytes of memory the lists and the text take.
func (o *Outcome) Held() int { return 4*cap(o.Gaps) + 8*cap(o.Tokens) + 4*cap(o.Late) + cap(o.Text) }

// Drop gives up the lists and the text, and their memory.
func (o *Outcome) Drop() {
	o.Gaps, o.Tokens = nil, nil
	o.Late, o.Text = nil, nil
}

// move moves every stamp by d.
func (o *Outcome) move(d int64) {
	o.Intended += d
	for _, p := range o.stamps() {
		if *p != Absent {
			*p += d
		}
	}
}

// Events returns the number of token events.
func (o *Outcome) Events() int {
	if o.First < 0 {
		return 0
	}
	return len(o.Gaps) + 1
}

// TokensOf returns the tokens of token event i.
func (o *Outcome) TokensOf(i int) int64 {
	if i < len(o.Tokens) {
		return o.Tokens[i]
	}
	return 1
}

// Token stamps a token event of k tokens at now.
func (o *Outcome) Token(now, k int64) {
	if o.First < 0 {
		o.First = now
	} else {
		o.Gaps = append(o.Gaps, gap(o.Last, now))
	}
	o.Last = now
	if k != 1 && len(o.Tokens) == 0 {
		o.Tokens = slices.Grow(o.Tokens, len(o.Gaps)+1)[:len(o.Gaps)]
		for i := range o.Tokens {
			o.Tokens[i] = 1
		}
	}
	if k != 1 || len(o.Tokens) > 0 {
		o.Tokens = append(o.Tokens, k)
	}
}

// LateBy says by how many ns the stamp of the last token event is later than the kernel's.
func (o *Outcome) LateBy(ns int64) {
	if ns == 0 && len(o.Late) == 0 {
		return
	}
	n := o.Events()
	if n == 1 {
		o.LateFirst = ns
	}
	for len(o.Late) < n-1 {
		o.Late = append(o.Late, 0)
	}
	o.Late = append(o.Late, int32(min(micros(ns), math.MaxInt32)))
}

// gap returns the microseconds between two stamps. Each stamp is rounded before they are subtracted, so that the errors
// of the gaps do not add up: their sum is the rounded time from the first event to the last.
func gap(from, to int64) int32 {
	return int32(min(max(micros(to)-micros(from), math.MinInt32), math.MaxInt32))
}

func micros(ns int64) int64 { return (ns + 500) / 1000 }

// AppendID appends the id of the request: what x-request-id says and what the row is called.
func (o *Outcome) AppendID(b []byte, prefix string) []byte {
	b = append(append(b, prefix...), '-')
	b = append(strconv.AppendInt(b, o.Session, 10), '-')
	return strconv.AppendInt(b, o.Turn, 10)
}

// Streamed returns the tokens that the token events brought.
func (o *Outcome) Streamed() int64 {
	if len(o.Tokens) == 0 {
		return int64(o.Events())
	}
	n := int64(0)
	for _, k := range o.Tokens {
		n += k
	}
	return n
}

// Package record keeps what became of requests: it spills them to disk while the load runs and afterwards makes rows,
// distributions and the numbers of a stage from them. It must not send anything or read a clock.
package record

import "slices"

// Absent is the value of a stamp or count that does not exist.
const Absent = -1

// Outcome is what one request did. Stamps are nanoseconds since the anchor of the measurement; stamps and counts are
// Absent where the thing did not happen. A token event is an event of the stream that brought at least one token.
type Outcome struct {
	ID                         string
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
	PrefixBucket, PrefixIndex  int64
	Status, Class, Error       string // words of package report
	Finish, Pod, TokenSource   string
	PromptHash                 string
	Gaps                       []int64 // between token events, one less than these
	Tokens                     []int64 // of each token event; empty = one each
	TokensAssumed              bool    // the server did not say how many tokens an event holds
	Text                       []byte  // of the answer, where the next turn needs it; not spilled
}

// Reset makes o the outcome of a request of which nothing is known yet, keeping its buffers.
func (o *Outcome) Reset() {
	gaps, tokens, text := o.Gaps[:0], o.Tokens[:0], o.Text[:0]
	*o = Outcome{Gaps: gaps, Tokens: tokens, Text: text}
	for _, p := range []*int64{&o.Send, &o.Sent, &o.FirstByte, &o.First, &o.Content, &o.Last, &o.End, &o.InAsked, &o.In,
		&o.Cached, &o.OutAsked, &o.Out, &o.Reasoning, &o.PrefixBucket, &o.PrefixIndex} {
		*p = Absent
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
		o.Gaps = append(o.Gaps, now-o.Last)
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

// Package trace reads recorded request traces: arrival times, input and output lengths, shared blocks of text, and
// sessions. It reads bytes and computes times; it sends nothing, and does not generate the text of a prompt.
package trace

import (
	"encoding/binary"

	"bflow.dev/bflow/runplan"
)

// BlockTokens is the length of a block that a hash id stands for; the last block of a request is the rest.
const BlockTokens = 512

// Absent is what a trace does not say.
const Absent = -1

// Request is one recorded request, 40 bytes.
type Request struct {
	At      int64 // ns from the start of a play of the trace, by the plan's scale; Absent in a trace without times
	Idle    int64 // ns between the end of the turn before and this one; 0 in a first turn
	Session int32 // from 0, in the order of their starts
	Turn    int32 // from 0
	In      int32 // tokens; Absent where the trace has the text itself
	Out     int32 // tokens to ask for; Absent = the server's default

	content uint64 // 1 + offset of its text or blocks in the arena; 0 = none
}

// After returns when a later turn is meant to be sent, in ns of the caller's clock, by a rule of runplan: start is when
// this play of the trace began, ended when the turn before did. Under TurnsRecorded that is the recorded time, but not
// before the turn before has ended; under TurnsIdle, and where no time was recorded, so long after its end as was
// recorded between the two.
func (r *Request) After(rule string, start, ended int64) int64 {
	if rule == runplan.TurnsIdle || r.At == Absent {
		return ended + r.Idle
	}
	return max(start+r.At, ended)
}

// Trace is a recorded trace, ready to be played. It does not change and may be read by many.
type Trace struct {
	Plays  int   // times it is played, one after the other
	Period int64 // ns from the start of one play to that of the next: the span of the trace and its mean gap
	Read   Count // what became of the rows

	requests []Request // by session, then turn
	first    []int32   // index of the first request of each session, and their number
	arena    []byte
	untimed  int // line of the first session start without a time; 0 = none
}

// Count says what became of the rows of a file.
type Count struct {
	Rows    int // that were read
	Outside int // left out: not between From and To
	TooLong int // left out: input longer than MaxInput
	Orphans int // left out: a turn of their session before them was
	Cut     int // outputs that were cut to MaxOutput
	Raised  int // lengths of 0, for which 1 is asked
}

// Requests returns every request of one play, by session and turn. It must not be changed.
func (t *Trace) Requests() []Request { return t.requests }

// Sessions returns the number of sessions over all plays; a request without a session is one of its own.
func (t *Trace) Sessions() int64 { return int64(len(t.first)-1) * int64(t.Plays) }

// Session returns the turns of a session by its index over all plays, from 0, and when its play of the trace starts, in
// ns from the start of the first. The turns must not be changed.
func (t *Trace) Session(index int64) (turns []Request, start int64) {
	n := int64(len(t.first) - 1)
	i := index % n
	return t.requests[t.first[i]:t.first[i+1]], index / n * t.Period
}

// Play returns which play of the trace a session belongs to, from 0. A prompt that depends on it keeps the second play
// from finding the first in the server's cache.
func (t *Trace) Play(index int64) int64 { return index / int64(len(t.first)-1) }

// Kinds of content.
const (
	KindLengths  = "lengths"  // only how long it was, and its blocks
	KindPrompt   = "prompt"   // the text itself
	KindMessages = "messages" // the JSON array of messages as it was sent
)

// first byte of an entry in the arena
const (
	entryBlocks   = 'b'
	entryPrompt   = 'p'
	entryMessages = 'm'
)

// Content returns what was recorded of the text of a request. The text must not be changed; it is nil for KindLengths.
func (t *Trace) Content(r *Request) (kind string, text []byte) {
	if r.content == 0 || t.arena[r.content-1] == entryBlocks {
		return KindLengths, nil
	}
	kind = KindPrompt
	if t.arena[r.content-1] == entryMessages {
		kind = KindMessages
	}
	n, width := binary.Uvarint(t.arena[r.content:])
	text = t.arena[int(r.content)+width:]
	return kind, text[:n:n]
}

// Blocks appends the hash ids of a request to buf[:0]: equal ids are equal blocks of BlockTokens tokens.
func (t *Trace) Blocks(buf []uint64, r *Request) []uint64 {
	buf = buf[:0]
	if r.content == 0 || t.arena[r.content-1] != entryBlocks {
		return buf
	}
	b := t.arena[r.content:]
	n, width := binary.Uvarint(b)
	b = b[width:]
	before := uint64(0)
	for range n {
		step, width := binary.Varint(b)
		b = b[width:]
		before += uint64(step)
		buf = append(buf, before)
	}
	return buf
}

// addBlocks keeps ids by their differences: the ids of a request mostly follow each other, a byte each.
func (t *Trace) addBlocks(ids []uint64) (content uint64) {
	t.arena = append(t.arena, entryBlocks)
	content = uint64(len(t.arena))
	t.arena = binary.AppendUvarint(t.arena, uint64(len(ids)))
	before := uint64(0)
	for _, id := range ids {
		t.arena = binary.AppendVarint(t.arena, int64(id-before))
		before = id
	}
	return content
}

func (t *Trace) addText(entry byte, text []byte) (content uint64) {
	t.arena = append(t.arena, entry)
	content = uint64(len(t.arena))
	t.arena = binary.AppendUvarint(t.arena, uint64(len(text)))
	t.arena = append(t.arena, text...)
	return content
}

package client

import (
	"bytes"

	"bflow.dev/bflow/tasks/loadgen/jsonscan"
)

// place is where in an event the text of a token stands.
type place uint8

const (
	nowhere place = iota
	inChoice
	inMessage
	inReasoning
)

// memo is how the last event of a stream began, up to the text of its token. The events of an answer differ in little
// but that text, so the next one mostly begins with the same bytes: they need not be read again, as long as they said
// nothing.
type memo struct {
	place place
	size  uint8
	head  [255]byte
}

func (m *memo) matches(data []byte) bool {
	return m.place != nowhere && bytes.HasPrefix(data, m.head[:m.size])
}

// learn keeps the beginning of an event whose text comes next in c.
func (d *delta) learn(data []byte, c *jsonscan.Cursor, at place) {
	size := c.Offset()
	if size > len(d.memo.head) || !d.blank() {
		return
	}
	d.memo.place, d.memo.size = at, uint8(copy(d.memo.head[:], data[:size]))
}

// resume reads an event from the text on that the memo leads to.
func (d *delta) resume(data []byte) error {
	c := jsonscan.Resume(data, int(d.memo.size))
	kind := content
	if d.memo.place == inReasoning {
		kind = reasoning
	}
	d.takeText(kind, c.Raw())
	if d.memo.place != inChoice {
		d.message(data, &c)
	}
	d.choice(data, &c)
	d.choices(data, &c)
	return d.chunk(data, &c)
}

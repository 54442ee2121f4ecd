package prompt

import (
	"encoding/json"
	"slices"
)

// history is what a conversation has said so far.
type history struct {
	turns []turn
}

type turn struct {
	role string
	text []byte // with token ids: their list
}

func (h *history) open(text []byte) { h.turns = append(h.turns, turn{"system", text}) }
func (h *history) ask(text []byte)  { h.turns = append(h.turns, turn{"user", text}) }

// answer keeps a copy: the buffer of the answer serves other requests.
func (h *history) answer(text []byte) {
	h.turns = append(h.turns, turn{"assistant", slices.Clone(text)})
}

func (h *history) size() int {
	n := 0
	for _, t := range h.turns {
		n += len(t.text) + 40
	}
	return n
}

func (h *history) hash() uint64 {
	parts := make([][]byte, 0, len(h.turns))
	for _, t := range h.turns {
		parts = append(parts, t.text)
	}
	return textHash(parts...)
}

// encode appends the field that carries the conversation.
func (h *history) encode(b []byte, s *Style) []byte {
	b = append(append(append(b, `,"`...), s.Field...), `":`...)
	switch {
	case s.Chat:
		return h.messages(b)
	case s.IDs:
		return append(h.join(append(b, '['), ','), ']')
	}
	return append(h.text(append(b, '"')), '"')
}

func (h *history) messages(b []byte) []byte {
	b = append(b, '[')
	for i, t := range h.turns {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, `{"role":"`...), t.role...), `","content":"`...)
		b = append(quoted(b, t), `"}`...)
	}
	return append(b, ']')
}

func (h *history) join(b []byte, between byte) []byte {
	for i, t := range h.turns {
		if i > 0 {
			b = append(b, between)
		}
		b = append(b, t.text...)
	}
	return b
}

func (h *history) text(b []byte) []byte {
	for i, t := range h.turns {
		if i > 0 {
			b = append(b, ' ')
		}
		b = quoted(b, t)
	}
	return b
}

// quoted appends the text of t as the inside of a JSON string. Words of ours need no escapes; answers may.
func quoted(b []byte, t turn) []byte {
	if t.role != "assistant" {
		return append(b, t.text...)
	}
	raw, err := json.Marshal(string(t.text))
	if err != nil || len(raw) < 2 {
		return b
	}
	return append(b, raw[1:len(raw)-1]...)
}

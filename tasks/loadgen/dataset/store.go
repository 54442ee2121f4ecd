package dataset

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"bflow.dev/bflow/tasks/loadgen/prompt"
)

// store keeps texts in a few large strings, so that millions of them are nothing to the garbage collector.
type store struct {
	entries []entry
	chunks  []string
	open    []byte // the chunk that is being filled
	bytes   int64
	most    int64
}

// entry says where a turn's texts lie: the answer behind the text.
type entry struct {
	chunk, at    uint32
	text, answer uint32 // lengths
	out          int32
}

const chunkBytes = 1 << 20

func (s *store) add(t turn, out int) error {
	if s.bytes += int64(len(t.text) + len(t.answer)); s.bytes > s.most {
		return fmt.Errorf("its prompts fill more than %d MiB of memory: set limit, the number of rows to be used", s.most>>20)
	}
	text, answer := clean(t.text), clean(t.answer)
	if len(s.open) > 0 && len(s.open)+len(text)+len(answer) > chunkBytes {
		s.seal()
	}
	s.entries = append(s.entries, entry{
		uint32(len(s.chunks)), uint32(len(s.open)), uint32(len(text)), uint32(len(answer)), int32(out),
	})
	s.open = append(append(s.open, text...), answer...)
	return nil
}

// clean replaces what is no UTF-8, which no JSON can hold.
func clean(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

// seal ends the open chunk.
func (s *store) seal() {
	if len(s.open) == 0 {
		return
	}
	s.chunks = append(s.chunks, string(s.open))
	s.open = s.open[:0]
}

func (s *store) turn(i int) prompt.TurnSpec {
	e := &s.entries[i]
	c := s.chunks[e.chunk][e.at:]
	return prompt.TurnSpec{Text: c[:e.text], Answer: c[e.text : e.text+e.answer], Out: int(e.out)}
}

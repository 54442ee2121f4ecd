package prompt

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strconv"
)

// What Sum looks at of a stage: so many requests, or those that fill so many bytes.
const (
	sumRequests = 256
	sumBytes    = 1 << 20
)

// Sum names what the first requests of each stage say: texts or token ids, who says them, images, asked lengths. It
// knows nothing of the engine: no model, no names of fields, no order of sending, no shard. Two measurements with the
// same sum had the same prompts; the text of later turns that real answers precede is in it, the answers are not.
//
// It is "sha256:" and the sum over the stages in order: the byte S and its number; then for each turn, as a letter, the
// length as 8 bytes (big endian) and the bytes themselves: s, a shared prefix; u, a text (n: token ids in decimal,
// commas between them; m: a JSON list of messages); i, the sha256 of an image's pixels; a, a recorded answer; o, the
// asked length in decimal.
func (s *Source) Sum(stages []Stage) string {
	if !s.ready {
		s.Prepare()
	}
	w := sumWriter{Hash: sha256.New()}
	for i, st := range stages {
		w.part('S', strconv.AppendInt(nil, int64(i), 10))
		w.stage(s, st)
	}
	return "sha256:" + hex.EncodeToString(w.Sum(nil))
}

type sumWriter struct {
	hash.Hash
	scratch []byte
	size    int
}

func (w *sumWriter) stage(s *Source, st Stage) {
	w.size = 0
	requests := 0
	for index := int64(0); requests < sumRequests && w.size < sumBytes; index++ {
		if s.Data.Conversations > 0 && index >= int64(s.Data.Conversations) {
			return // what comes then has come before
		}
		content, ok := s.content(index)
		if !ok {
			return
		}
		var c Session
		c.begin(s, st, index, content)
		for more := true; more && requests < sumRequests; requests++ {
			pl := c.plan()
			w.turn(s, &pl)
			c.turn++
			more = !pl.Last
		}
	}
}

func (w *sumWriter) turn(s *Source, pl *plan) {
	text, border := s.texts(w.scratch[:0], pl)
	w.scratch = text
	if border > 0 {
		w.part('s', text[:border])
	}
	kind := byte('u')
	switch {
	case pl.Messages != "":
		kind = 'm'
	case s.Style.IDs && pl.Text == "":
		kind = 'n'
	}
	w.part(kind, text[border:])
	for i := range pl.images {
		w.part('i', s.image(pl, i).sum[:])
	}
	if pl.Answer != "" {
		w.part('a', []byte(pl.Answer))
	}
	w.part('o', strconv.AppendInt(nil, pl.outAsked, 10))
}

func (w *sumWriter) part(kind byte, text []byte) {
	var front [9]byte
	front[0] = kind
	binary.BigEndian.PutUint64(front[1:], uint64(len(text)))
	_, _ = w.Write(front[:])
	_, _ = w.Write(text)
	w.size += len(text)
}

// texts appends the texts of a turn: a shared prefix up to border, and what is asked.
func (s *Source) texts(b []byte, pl *plan) (text []byte, border int) {
	if pl.prefixTokens > 0 {
		b = s.shared(b, pl)
	}
	border = len(b)
	switch {
	case pl.Messages != "":
		return append(b, pl.Messages...), border
	case pl.Text != "":
		return append(b, pl.Text...), border
	}
	return s.synthetic(b, pl), border
}

package record

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// A spill file is a header frame and then frames: a length of 4 bytes, little endian, and as many bytes. A frame whose
// length has the bit wordFrame is a text; the texts of a file are numbered from 1 in the order in which they come, and
// outcomes name them by number, so that a word like "ok" takes a byte. Every other frame is an outcome: 8 bytes of its
// intended send, and what appendTo writes.
const (
	frameHead = 4
	wordFrame = 1 << 31
)

// Flags of an outcome.
const (
	flagAssumed = 1 << iota
	flagKernel
	flagReused
	flagHash
	flagError
)

// stamps are the fields that are times, written as their distance from the intended send plus 1; 0 is Absent.
func (o *Outcome) stamps() [7]*int64 {
	return [...]*int64{&o.Send, &o.Sent, &o.FirstByte, &o.First, &o.Content, &o.Last, &o.End}
}

// counts are the fields that are small numbers or Absent, written plus 1.
func (o *Outcome) counts() [26]*int64 {
	return [...]*int64{&o.Index, &o.Session, &o.Turn, &o.Slot, &o.QueueWait, &o.Dial, &o.HTTPStatus, &o.InAsked, &o.In,
		&o.Cached, &o.OutAsked, &o.Out, &o.Reasoning, &o.BytesOut, &o.BytesIn, &o.Conn, &o.StaleRetries,
		&o.PrefixBucket, &o.PrefixIndex, &o.Adapter,
		&o.LagMax, &o.LateFirst, &o.LateEnd, &o.Behind, &o.Bunched, &o.Within}
}

// words are the fields that hold one of a few texts.
func (o *Outcome) words() [5]*string {
	return [...]*string{&o.Status, &o.Class, &o.Finish, &o.Pod, &o.TokenSource}
}

// room is an upper bound of the bytes that appendTo takes.
func (o *Outcome) room() int {
	return 460 + 5*len(o.Gaps) + 10*len(o.Tokens) + 5*len(o.Late) + len(o.Error)
}

// appendTo appends the frame of the outcome; words are the numbers of its words.
func (o *Outcome) appendTo(b []byte, words [5]uint64) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(o.Intended))
	b = append(b, o.flags())
	for _, p := range o.stamps() {
		if *p == Absent {
			b = append(b, 0)
			continue
		}
		b = appendVarint(b, zigzag(*p-o.Intended)+1)
	}
	for _, p := range o.counts() {
		b = appendVarint(b, uint64(*p+1))
	}
	b = appendVarint(b, uint64(o.Retries))
	for _, w := range words {
		b = appendVarint(b, w)
	}
	if o.PromptHash != 0 {
		b = binary.LittleEndian.AppendUint64(b, o.PromptHash)
	}
	if o.Error != "" {
		b = append(appendVarint(b, uint64(len(o.Error))), o.Error...)
	}
	b = appendVarint(b, uint64(len(o.Gaps)))
	for _, g := range o.Gaps {
		b = appendVarint(b, zigzag(int64(g)))
	}
	b = appendVarint(b, uint64(len(o.Tokens)))
	for _, k := range o.Tokens {
		b = appendVarint(b, uint64(k))
	}
	b = appendVarint(b, uint64(len(o.Late)))
	for _, late := range o.Late {
		b = appendVarint(b, uint64(late))
	}
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-frameHead))
	return b
}

func (o *Outcome) flags() byte {
	flags := byte(0)
	for i, set := range [...]bool{o.TokensAssumed, o.Kernel, o.Reused == 1, o.PromptHash != 0, o.Error != ""} {
		if set {
			flags |= 1 << i
		}
	}
	return flags
}

// zigzag maps numbers near zero, of either sign, to small ones.
func zigzag(x int64) uint64 { return uint64(x<<1) ^ uint64(x>>63) }

func unzigzag(x uint64) int64 { return int64(x>>1) ^ -int64(x&1) }

// appendVarint is binary.AppendUvarint with the case of one byte inlined.
func appendVarint(b []byte, x uint64) []byte {
	if x < 0x80 {
		return append(b, byte(x))
	}
	return binary.AppendUvarint(b, x)
}

var errSpill = errors.New("the spill file is damaged")

// decode reads what appendTo wrote, without the length; words are the texts of the file so far. Its buffers are reused.
func (o *Outcome) decode(b []byte, words []string) error {
	d := decoder{b: b}
	*o = Outcome{Gaps: o.Gaps[:0], Tokens: o.Tokens[:0], Late: o.Late[:0], Text: o.Text[:0]}
	o.Intended = int64(d.fixed())
	flags := d.bytes(1)[0]
	for _, p := range o.stamps() {
		*p = Absent
		if v := d.varint(); v > 0 {
			*p = o.Intended + unzigzag(v-1)
		}
	}
	for _, p := range o.counts() {
		*p = int64(d.varint()) - 1
	}
	o.Retries = int64(d.varint())
	for _, p := range o.words() {
		if n := d.varint(); n > uint64(len(words)) {
			return errSpill
		} else if n > 0 {
			*p = words[n-1]
		}
	}
	o.TokensAssumed, o.Kernel = flags&flagAssumed != 0, flags&flagKernel != 0
	if flags&flagReused != 0 {
		o.Reused = 1
	}
	if flags&flagHash != 0 {
		o.PromptHash = d.fixed()
	}
	if flags&flagError != 0 {
		o.Error = string(d.bytes(d.varint()))
	}
	d.lists(o)
	if d.bad || len(d.b) != 0 {
		return errSpill
	}
	return nil
}

type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) lists(o *Outcome) {
	n := d.count()
	o.Gaps = slices.Grow(o.Gaps, n)
	for range n {
		o.Gaps = append(o.Gaps, int32(unzigzag(d.varint())))
	}
	n = d.count()
	o.Tokens = slices.Grow(o.Tokens, n)
	for range n {
		o.Tokens = append(o.Tokens, int64(d.varint()))
	}
	n = d.count()
	o.Late = slices.Grow(o.Late, n)
	for range n {
		o.Late = append(o.Late, int32(min(d.varint(), math.MaxInt32)))
	}
}

// count reads how many numbers follow: no more than there are bytes.
func (d *decoder) count() int {
	n := d.varint()
	if n > uint64(len(d.b)) {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) varint() uint64 {
	if len(d.b) > 0 && d.b[0] < 0x80 {
		v := d.b[0]
		d.b = d.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) fixed() uint64 { return binary.LittleEndian.Uint64(d.bytes(8)) }

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return make([]byte, 8)
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

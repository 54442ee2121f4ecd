package record

import (
	"encoding/binary"
	"errors"
)

// ints and texts list the fields of an outcome in the order of the spill file.
func (o *Outcome) ints() []*int64 {
	return []*int64{&o.Index, &o.Session, &o.Turn, &o.Slot, &o.Intended, &o.QueueWait, &o.Dial, &o.Send, &o.Sent,
		&o.FirstByte, &o.First, &o.Content, &o.Last, &o.End, &o.HTTPStatus, &o.InAsked, &o.In, &o.Cached, &o.OutAsked,
		&o.Out, &o.Reasoning, &o.BytesOut, &o.BytesIn, &o.Conn, &o.Reused, &o.StaleRetries, &o.PrefixBucket, &o.PrefixIndex,
		&o.Retries, &o.LagMax, &o.Adapter}
}

func (o *Outcome) texts() []*string {
	return []*string{&o.Status, &o.Class, &o.Error, &o.Finish, &o.Pod, &o.TokenSource}
}

// appendTo appends the outcome: its length, its integers, texts, gaps and tokens, all as varints.
func (o *Outcome) appendTo(b []byte) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	for _, p := range o.ints() {
		b = binary.AppendVarint(b, *p)
	}
	for _, p := range o.texts() {
		b = binary.AppendUvarint(b, uint64(len(*p)))
		b = append(b, *p...)
	}
	b = appendList(appendList(b, o.Gaps), o.Tokens)
	b = binary.LittleEndian.AppendUint64(b, o.PromptHash)
	flags := byte(0)
	if o.TokensAssumed {
		flags = 1
	}
	if o.Kernel {
		flags |= 2
	}
	b = append(b, flags)
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

func appendList[T int32 | int64](b []byte, list []T) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, v := range list {
		b = binary.AppendVarint(b, int64(v))
	}
	return b
}

var errSpill = errors.New("the spill file is damaged")

// decode reads what appendTo wrote, without the length.
func (o *Outcome) decode(b []byte) error {
	gaps, tokens := o.Gaps[:0], o.Tokens[:0]
	*o = Outcome{}
	d := decoder{b: b}
	for _, p := range o.ints() {
		*p = d.varint()
	}
	for _, p := range o.texts() {
		*p = string(d.bytes(d.uvarint()))
	}
	o.Gaps, o.Tokens = list(&d, gaps), list(&d, tokens)
	rest := d.bytes(9)
	if d.bad || len(d.b) != 0 {
		return errSpill
	}
	o.PromptHash, o.TokensAssumed, o.Kernel = binary.LittleEndian.Uint64(rest), rest[8]&1 != 0, rest[8]&2 != 0
	return nil
}

type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	d.advance(n)
	return v
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.advance(n)
	return v
}

func (d *decoder) advance(n int) {
	if n <= 0 {
		d.bad, d.b = true, nil
		return
	}
	d.b = d.b[n:]
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.bad = true
		return make([]byte, 9)
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

func list[T int32 | int64](d *decoder, to []T) []T {
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		to = append(to, T(d.varint()))
	}
	return to
}

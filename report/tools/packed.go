package tools

import (
	"encoding/binary"
	"iter"
	"slices"

	"bflow.dev/bflow/report"
)

// packed keeps the numbers of rows in a tenth of the memory that rows take: numbers that lie close to each other are
// written as their differences, in as few bytes as these need.
type packed struct {
	blocks [][]byte
	words  []string
	number int   // of the row that was added last, in its file
	at     int64 // its intended send
	gaps   bool  // some row has them
}

// blockSize is the room of a block. Blocks are never copied, as one growing list would be.
const blockSize = 1 << 20

// rowRoom is more than a row takes.
const rowRoom = 30 * binary.MaxVarintLen64

// packedStamps are in an order in which each mostly lies close to the one before it.
func packedStamps(r *report.Row) [6]**int64 {
	return [...]**int64{&r.TSend, &r.TFirstByte, &r.TFirst, &r.TContent, &r.TLast, &r.TEnd}
}

func packedCounts(r *report.Row) [6]**int {
	return [...]**int{&r.TokensInAsked, &r.TokensIn, &r.TokensOut, &r.TokensReasoning, &r.TokensCached, &r.Events}
}

// add keeps the row that has the given number in its file; numbers ascend.
func (p *packed) add(number int, r *report.Row) {
	if n := len(p.blocks); n == 0 || cap(p.blocks[n-1])-len(p.blocks[n-1]) < rowRoom {
		p.blocks = append(p.blocks, make([]byte, 0, blockSize))
	}
	b := p.blocks[len(p.blocks)-1]
	b = binary.AppendUvarint(b, uint64(number-p.number))
	b = binary.AppendVarint(b, r.TIntended-p.at)
	p.number, p.at = number, r.TIntended
	b = binary.AppendUvarint(b, uint64(r.Sample))
	b = binary.AppendUvarint(b, p.word(r.Status))
	b = binary.AppendUvarint(b, p.word(r.ErrorClass))
	last := r.TIntended
	for _, t := range packedStamps(r) {
		if *t == nil {
			b = append(b, 0)
			continue
		}
		b = binary.AppendUvarint(b, zigzag(**t-last)+1)
		last = **t
	}
	for _, n := range packedCounts(r) {
		if *n == nil {
			b = append(b, 0)
			continue
		}
		b = binary.AppendUvarint(b, zigzag(int64(**n))+1)
	}
	for _, v := range []int64{r.QueueWait, r.Dial, r.BytesOut} {
		b = binary.AppendVarint(b, v)
	}
	p.blocks[len(p.blocks)-1] = b
	p.gaps = p.gaps || len(r.Gaps) > 0
}

// word returns the number of a text of which there are few.
func (p *packed) word(text string) uint64 {
	i := slices.Index(p.words, text)
	if i < 0 {
		i = len(p.words)
		p.words = append(p.words, text)
	}
	return uint64(i)
}

// all yields the numbers of the rows in their file and the rows, which are one row that each overwrites.
func (p *packed) all() iter.Seq2[int, *report.Row] {
	return func(yield func(int, *report.Row) bool) {
		u := unpacker{words: p.words}
		for _, b := range p.blocks {
			for u.rest = b; len(u.rest) > 0; {
				u.next()
				if !yield(u.number, &u.row) {
					return
				}
			}
		}
	}
}

type unpacker struct {
	words  []string
	rest   []byte
	number int
	at     int64
	row    report.Row
	stamps [6]int64
	counts [6]int
}

func (u *unpacker) next() {
	r := &u.row
	u.number += int(u.uvarint())
	u.at += u.varint()
	r.TIntended = u.at
	r.Sample = int(u.uvarint())
	r.Status, r.ErrorClass = u.words[u.uvarint()], u.words[u.uvarint()]
	last := u.at
	for i, t := range packedStamps(r) {
		if *t = nil; u.present() {
			last += u.unzigzag()
			u.stamps[i] = last
			*t = &u.stamps[i]
		}
	}
	for i, n := range packedCounts(r) {
		if *n = nil; u.present() {
			u.counts[i] = int(u.unzigzag())
			*n = &u.counts[i]
		}
	}
	r.QueueWait, r.Dial, r.BytesOut = u.varint(), u.varint(), u.varint()
}

// present says whether a number follows; it steps over the mark of one that is absent.
func (u *unpacker) present() bool {
	if u.rest[0] != 0 {
		return true
	}
	u.rest = u.rest[1:]
	return false
}

func (u *unpacker) unzigzag() int64 {
	x := u.uvarint() - 1
	return int64(x>>1) ^ -int64(x&1)
}

func (u *unpacker) uvarint() uint64 {
	if x := u.rest[0]; x < 0x80 {
		u.rest = u.rest[1:]
		return uint64(x)
	}
	x, n := binary.Uvarint(u.rest)
	u.rest = u.rest[n:]
	return x
}

func (u *unpacker) varint() int64 {
	x := u.uvarint()
	return int64(x>>1) ^ -int64(x&1)
}

// zigzag maps numbers near zero, of either sign, to small ones.
func zigzag(x int64) uint64 { return uint64(x<<1) ^ uint64(x>>63) }

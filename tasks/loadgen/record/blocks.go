package record

import (
	"encoding/binary"
	"errors"
	"io"
)

// Blocks of a spill file that are kept while it is read in order. Outcomes lie nearly in order, as requests end nearly
// in the order in which they are sent, so that a few megabytes spare a system call for each.
const (
	blockSize  = 64 << 10
	blockCount = 64
)

// blocks reads a file with a cache of its latest blocks.
type blocks struct {
	f     io.ReaderAt
	size  int64
	held  [blockCount]block
	spare []byte // a frame that lies across blocks
}

type block struct {
	number int64 // from 1; 0 = none
	data   []byte
}

// frame returns the frame at off without its head; it is valid until the next call.
func (c *blocks) frame(off int64) ([]byte, error) {
	head, err := c.read(off, frameHead)
	if err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(head))
	if n > c.size-off {
		return nil, errSpill
	}
	return c.read(off+frameHead, int(n))
}

// read returns n bytes at off.
func (c *blocks) read(off int64, n int) ([]byte, error) {
	data, err := c.block(off / blockSize)
	if err != nil {
		return nil, err
	}
	from := int(off % blockSize)
	if from+n <= len(data) {
		return data[from : from+n], nil
	}
	c.spare = c.spare[:0]
	for {
		part := data[min(from, len(data)):]
		part = part[:min(n-len(c.spare), len(part))]
		if len(part) == 0 {
			return nil, errSpill
		}
		if c.spare = append(c.spare, part...); len(c.spare) == n {
			return c.spare, nil
		}
		off += int64(len(part))
		from = int(off % blockSize)
		if data, err = c.block(off / blockSize); err != nil {
			return nil, err
		}
	}
}

func (c *blocks) block(number int64) ([]byte, error) {
	b := &c.held[number%blockCount]
	if b.number == number+1 {
		return b.data, nil
	}
	if b.data == nil {
		b.data = make([]byte, blockSize)
	}
	b.number = 0
	n, err := c.f.ReadAt(b.data[:blockSize], number*blockSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	b.number, b.data = number+1, b.data[:n]
	return b.data, nil
}

package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	"bflow.dev/bflow/report"
)

// chunk is how many values of a column are in memory at most until it is summarised.
const chunk = 16 << 10

// inRoom is how many bytes of the chunks of a stage stay in memory: about the first hundred thousand requests.
const inRoom = 20 << 20

// store keeps the chunks of all columns of a stage: the first in memory, the rest in a file, because a stage of
// millions of requests has twenty distributions, of which one at a time is in memory. The file is scratch: it has no
// form for others.
type store struct {
	path string
	held int // bytes in memory
	f    *os.File
	size int64
	err  error
}

// reserve says whether n bytes more stay in memory.
func (s *store) reserve(n int) bool {
	if s.held+n > inRoom {
		return false
	}
	s.held += n
	return true
}

func (s *store) put(b []byte) int64 {
	at := s.size
	if s.f == nil && s.err == nil {
		s.f, s.err = os.Create(s.path)
	}
	if s.err == nil {
		_, s.err = s.f.WriteAt(b, at)
	}
	s.size += int64(len(b))
	return at
}

func (s *store) get(b []byte, at int64) {
	if s.err == nil {
		_, s.err = s.f.ReadAt(b, at)
	}
}

// firstError returns the first error.
func (s *store) firstError() error {
	if s.err == nil {
		return nil
	}
	return fmt.Errorf("keeping values in %q: %w", s.path, s.err)
}

func (s *store) remove() error {
	if s.f == nil {
		return nil
	}
	s.f.Close()
	if err := os.Remove(s.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// column is a list of numbers in the order in which they came. Above report.ExactLimit of them only their histogram is
// kept, where they are values.
type column[T float64 | uint64] struct {
	store  *store
	buf    []T
	chunks []stored[T]
	n      int
	folded *report.Distribution
}

// stored is a chunk, in memory or on disk.
type stored[T float64 | uint64] struct {
	values   []T // nil = on disk
	at       int64
	low, top T
}

func (c *column[T]) add(x T) {
	if len(c.buf) == chunk {
		c.flush()
	}
	c.buf = append(c.buf, x)
}

// flush makes room in the buffer.
func (c *column[T]) flush() {
	if c.folded != nil {
		c.folded.AddAll(any(c.buf).([]float64))
		c.n += len(c.buf)
		c.buf = c.buf[:0]
		return
	}
	s := stored[T]{low: c.buf[0], top: c.buf[0]}
	for _, x := range c.buf {
		if x < s.low {
			s.low = x
		}
		if x > s.top {
			s.top = x
		}
	}
	c.n += len(c.buf)
	if c.store.reserve(8 * chunk) {
		s.values, c.buf = c.buf, make([]T, 0, chunk)
	} else {
		s.at, c.buf = c.store.put(raw(c.buf)), c.buf[:0]
	}
	c.chunks = append(c.chunks, s)
	if _, values := any(c.buf).([]float64); values && c.n+chunk > report.ExactLimit {
		c.fold()
	}
}

// fold makes a histogram of the values so far.
func (c *column[T]) fold() {
	c.folded = report.NewDistribution("")
	c.folded.Condense()
	part := make([]T, chunk)
	for _, s := range c.chunks {
		c.folded.AddAll(any(c.read(&s, part)).([]float64))
	}
	c.chunks = nil
}

// read returns the values of a chunk, valid until part is used again.
func (c *column[T]) read(s *stored[T], part []T) []T {
	if s.values != nil {
		return s.values
	}
	c.store.get(raw(part[:chunk]), s.at)
	return part[:chunk]
}

// size returns the number of values.
func (c *column[T]) size() int { return c.n + len(c.buf) }

// clone returns a column with the same values, to which others can be added.
func (c *column[T]) clone() *column[T] {
	out := &column[T]{
		store: c.store, buf: append([]T(nil), c.buf...), chunks: c.chunks[:len(c.chunks):len(c.chunks)], n: c.n,
	}
	if c.folded != nil {
		out.folded = c.folded.Clone()
	}
	return out
}

// within appends the values from low to top, both included, to to.
func (c *column[T]) within(low, top T, to []T) []T {
	part := make([]T, chunk)
	for _, s := range c.chunks {
		if s.top >= low && s.low <= top {
			to = appendWithin(to, c.read(&s, part), low, top)
		}
	}
	return appendWithin(to, c.buf, low, top)
}

func appendWithin[T float64 | uint64](to, from []T, low, top T) []T {
	for _, x := range from {
		if x >= low && x <= top {
			to = append(to, x)
		}
	}
	return to
}

// raw are the bytes of xs.
func raw[T float64 | uint64](xs []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(xs))), 8*len(xs))
}

// distribution puts the values of c into d, which is emptied before and gets the unit.
func distribution(c *column[float64], unit string, d *report.Distribution) *report.Distribution {
	if c.folded != nil {
		out := report.NewDistribution(unit)
		out.Merge(c.folded)
		out.AddAll(c.buf)
		return out
	}
	d.Reset(unit, c.size())
	part := make([]float64, chunk)
	for _, s := range c.chunks {
		d.AddAll(c.read(&s, part))
	}
	d.AddAll(c.buf)
	return d
}

package record

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// entry is an outcome in a spill file.
type entry struct{ intended, offset int64 }

// contents are the outcomes of a stage as they are read: where each lies, in order of its intended send. Those of a
// divided load lie in several files.
type contents struct {
	parts []part
	index []entry // offsets hold the number of the part above partShift
}

// part is a spill file.
type part struct {
	path   string
	prefix string
	words  []string
	shift  int64 // added to its stamps
	blocks blocks
}

// partShift leaves room for files of 2^48 bytes and for 32768 parts.
const partShift = 48

// readSpill looks through a spill file once.
// n is about how many outcomes it holds.
func readSpill(path string, f io.ReaderAt, size int64, n int) (*contents, error) {
	c := &contents{parts: []part{{path: path, blocks: blocks{f: f, size: size}}}, index: make([]entry, 0, n)}
	p := &c.parts[0]
	s := scan{in: bufio.NewReaderSize(io.NewSectionReader(f, 0, size), spillBuffer), size: size}
	p.prefix = string(s.bytes(s.length()))
	inOrder, last := true, int64(0)
	for s.err == nil {
		at := s.at
		n := s.length()
		switch {
		case s.err != nil:
		case n&wordFrame != 0:
			if word := s.bytes(n &^ wordFrame); s.err == nil {
				p.words = append(p.words, string(word))
			}
		default:
			if intended := s.intended(n); s.err == nil {
				inOrder = inOrder && (intended >= last || len(c.index) == 0)
				last = intended
				c.index = append(c.index, entry{intended, at})
			}
		}
	}
	if !errors.Is(s.err, io.EOF) && !errors.Is(s.err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("reading spill file %q: %w", path, s.err)
	}
	if !inOrder {
		c.sort()
	}
	return c, nil
}

// sort puts the outcomes into order; those of one moment stay as they were added.
func (c *contents) sort() {
	slices.SortFunc(c.index, func(a, b entry) int {
		if a.intended != b.intended {
			return cmp.Compare(a.intended, b.intended)
		}
		return cmp.Compare(a.offset, b.offset)
	})
}

// join adds the outcomes of another file, whose stamps are moved by shift; sort comes after it.
func (c *contents) join(o *contents, shift int64) {
	number := int64(len(c.parts))
	for _, e := range o.index {
		c.index = append(c.index, entry{e.intended + shift, e.offset | number<<partShift})
	}
	c.parts = append(c.parts, o.parts[0])
	c.parts[number].shift = shift
}

// scan reads frames one after the other. Its error is io.EOF between two frames, io.ErrUnexpectedEOF within one.
type scan struct {
	in       *bufio.Reader
	at, size int64
	err      error
}

func (s *scan) length() uint32 {
	b, err := s.in.Peek(frameHead)
	if len(b) < frameHead {
		if s.err = err; len(b) > 0 && errors.Is(err, io.EOF) {
			s.err = io.ErrUnexpectedEOF
		}
		return 0
	}
	s.skip(frameHead)
	return binary.LittleEndian.Uint32(b)
}

func (s *scan) skip(n int64) {
	if n > s.size-s.at { // cut off here
		s.err = io.ErrUnexpectedEOF
		return
	}
	if _, err := s.in.Discard(int(n)); err != nil {
		s.err = err
	}
	s.at += n
}

func (s *scan) bytes(n uint32) []byte {
	if s.err != nil || int64(n) > s.size-s.at {
		s.err = io.ErrUnexpectedEOF
		return nil
	}
	b := make([]byte, n)
	_, s.err = io.ReadFull(s.in, b)
	s.at += int64(n)
	return b
}

// intended reads the start of an outcome of n bytes and passes it over.
func (s *scan) intended(n uint32) int64 {
	b, err := s.in.Peek(8)
	if err != nil || n < 8 {
		s.err = io.ErrUnexpectedEOF
		return 0
	}
	v := int64(binary.LittleEndian.Uint64(b))
	s.skip(int64(n))
	return v
}

// each calls f with every outcome in order, and with the prefix of its id. The outcome is valid during the call.
func (c *contents) each(f func(i int, prefix string, o *Outcome) error) error {
	var o Outcome
	for i, e := range c.index {
		p := &c.parts[e.offset>>partShift]
		b, err := p.blocks.frame(e.offset & (1<<partShift - 1))
		if err == nil {
			err = o.decode(b, p.words)
		}
		if err != nil {
			return fmt.Errorf("reading spill file %q: %w", p.path, err)
		}
		if p.shift != 0 {
			o.move(p.shift)
		}
		if err := f(i, p.prefix, &o); err != nil {
			return err
		}
	}
	return nil
}

// open ends the writing and returns what was written.
func (s *Spill) open() (*contents, error) {
	if err := s.close(); err != nil {
		return nil, err
	}
	info, err := s.f.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading spill file: %w", err)
	}
	return readSpill(s.path, s.f, info.Size(), s.added)
}

// Each calls f with every outcome in order of its intended send, after the last Add. The outcome is valid during the
// call.
func (s *Spill) Each(f func(i int, o *Outcome) error) error {
	c, err := s.open()
	if err != nil {
		return err
	}
	return c.each(func(i int, _ string, o *Outcome) error { return f(i, o) })
}

// Recover calls f with every whole outcome of a spill file that a killed process left at path, and with the prefix of
// its id; a missing file has none.
func Recover(path string, f func(prefix string, o *Outcome) error) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading spill file: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("reading spill file: %w", err)
	}
	c, err := readSpill(path, file, info.Size(), 0)
	if err != nil {
		return err
	}
	return c.each(func(_ int, prefix string, o *Outcome) error { return f(prefix, o) })
}

package tools

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"sync"
	"time"
)

// spill keeps the elements of long lists, each with what stands before it in its document. Those that are as they were
// in a file stay there; the others are in a file without a name, which goes with the process, however that ends.
type spill struct {
	source *source // nil = everything is kept
	f      *os.File
	mu     sync.Mutex // of out where several read
	out    *bufio.Writer
	size   int64
	buf    []byte // scratch of who adds
}

// newSpill begins a spill in dir, which has to have room for what the documents hold.
func newSpill(dir string, from *source) (*spill, error) {
	f, err := os.CreateTemp(dir, ".requests-*")
	if err != nil {
		return nil, fmt.Errorf("keeping requests aside: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("keeping requests aside: %w", err), f.Close())
	}
	return &spill{source: from, f: f, out: bufio.NewWriterSize(f, 256<<10)}, nil
}

// leastReferred is from how many bytes on an element stays in its file: of smaller ones the reference is no smaller.
const leastReferred = 64

// An element is written as: the length of what stands before it, doubled, and one more where both stay in the file;
// where they do, the length of the element and where it begins; else what stands before it, the length of the element,
// and it.

// refer adds an element that begins at byte at of the file.
func (s *spill) refer(at int64, before, element []byte) error {
	if len(element) < leastReferred {
		return s.add(before, element)
	}
	return s.write(uint64(len(before))<<1|1, nil, uint64(len(element)), binary.AppendUvarint(nil, uint64(at)))
}

func (s *spill) add(before, element []byte) error {
	return s.write(uint64(len(before))<<1, before, uint64(len(element)), element)
}

func (s *spill) write(first uint64, before []byte, second uint64, element []byte) error {
	for _, part := range []struct {
		head uint64
		text []byte
	}{{first, before}, {second, element}} {
		head := binary.AppendUvarint(s.out.AvailableBuffer(), part.head)
		_, err := s.out.Write(head)
		if err == nil {
			_, err = s.out.Write(part.text)
		}
		if err != nil {
			return fmt.Errorf("keeping requests aside: %w", err)
		}
		s.size += int64(len(head) + len(part.text))
	}
	return nil
}

// each yields what stands before each element of a list, and the element. Both are overwritten by the next. An error
// ends the walk; it comes without an element.
func (s *spill) each(l *list) iter.Seq2[[2][]byte, error] {
	return func(yield func([2][]byte, error) bool) {
		err := s.flush()
		r := spillReader{source: s.source,
			in: bufio.NewReaderSize(io.NewSectionReader(s.f, l.start, l.end-l.start), 256<<10)}
		for i := 0; i < l.n && err == nil; i++ {
			var parts [2][]byte
			if parts, err = r.next(); err == nil && !yield(parts, nil) {
				return
			}
		}
		if err != nil {
			err = fmt.Errorf("reading what was kept aside: %w", err)
		}
		if changed := s.source.check(); changed != nil {
			err = changed
		}
		if err != nil {
			yield([2][]byte{}, err)
		}
	}
}

// flush brings what was added to the file.
func (s *spill) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Flush()
}

// spillReader reads the elements of a list.
type spillReader struct {
	in     *bufio.Reader
	source *source
	bufs   [2][]byte
	window []byte // of the source, which elements mostly follow each other in
	begin  int64  // of the window
}

// windowSize is how much is read of a source at a time.
const windowSize = 256 << 10

func (r *spillReader) next() (parts [2][]byte, err error) {
	first, err := binary.ReadUvarint(r.in)
	if err != nil {
		return parts, err
	}
	if first&1 == 1 {
		return r.readSource(int(first >> 1))
	}
	if err := r.read(0, first>>1); err != nil {
		return parts, err
	}
	second, err := binary.ReadUvarint(r.in)
	if err == nil {
		err = r.read(1, second)
	}
	return r.bufs, err
}

func (r *spillReader) read(i int, n uint64) error {
	r.bufs[i] = slices.Grow(r.bufs[i][:0], int(n))[:n]
	_, err := io.ReadFull(r.in, r.bufs[i])
	return err
}

// readSource reads an element from the file of its document.
func (r *spillReader) readSource(before int) (parts [2][]byte, err error) {
	length, err := binary.ReadUvarint(r.in)
	if err != nil {
		return parts, err
	}
	at, err := binary.ReadUvarint(r.in)
	if err != nil {
		return parts, err
	}
	n := before + int(length)
	from := r.source.skipped + int64(at) - int64(before)
	if from < r.begin || from+int64(n) > r.begin+int64(len(r.window)) {
		if err := r.move(from, n); err != nil {
			return parts, err
		}
	}
	both := r.window[from-r.begin:][:n]
	return [2][]byte{both[:before], both[before:]}, nil
}

// move puts the window at a byte of the source, with at least n from there.
func (r *spillReader) move(from int64, n int) error {
	r.window = slices.Grow(r.window[:0], max(n, windowSize))[:max(n, windowSize)]
	got, err := r.source.f.ReadAt(r.window, from)
	r.window, r.begin = r.window[:got], from
	if got >= n {
		return nil
	}
	return err
}

// source is the file of a document. It is open until the document is forgotten.
type source struct {
	f       *os.File
	skipped int64 // bytes before those that count
	size    int64
	written time.Time
}

// check returns an error where the file was written to since it was opened.
func (s *source) check() error {
	if s == nil {
		return nil
	}
	info, err := s.f.Stat()
	if err != nil {
		return fmt.Errorf("reading results: %w", err)
	}
	if info.Size() != s.size || !info.ModTime().Equal(s.written) {
		return fmt.Errorf("reading %q: it was written to meanwhile: is the tool still at work?", s.f.Name())
	}
	return nil
}

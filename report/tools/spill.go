package tools

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// spill keeps the elements of long lists in a file without a name: it goes with the process, however that ends. Each has
// what stands before it in its document.
type spill struct {
	f    *os.File
	out  *bufio.Writer
	size int64
	buf  []byte // scratch of who adds
}

// newSpill begins a spill in dir, which has to have room for what the documents hold.
func newSpill(dir string) (*spill, error) {
	f, err := os.CreateTemp(dir, ".requests-*")
	if err != nil {
		return nil, fmt.Errorf("keeping requests aside: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("keeping requests aside: %w", err), f.Close())
	}
	return &spill{f: f, out: bufio.NewWriterSize(f, 256<<10)}, nil
}

func (s *spill) add(before, element []byte) error {
	for _, part := range [][]byte{before, element} {
		head := binary.AppendUvarint(s.out.AvailableBuffer(), uint64(len(part)))
		_, err := s.out.Write(head)
		if err == nil {
			_, err = s.out.Write(part)
		}
		if err != nil {
			return fmt.Errorf("keeping requests aside: %w", err)
		}
		s.size += int64(len(head) + len(part))
	}
	return nil
}

// each yields what stands before each element of a list, and the element. Both are overwritten by the next. An error
// ends the walk; it comes without an element.
func (s *spill) each(l *list) iter.Seq2[[2][]byte, error] {
	return func(yield func([2][]byte, error) bool) {
		if err := s.out.Flush(); err != nil {
			yield([2][]byte{}, fmt.Errorf("keeping requests aside: %w", err))
			return
		}
		in := bufio.NewReaderSize(io.NewSectionReader(s.f, l.start, l.end-l.start), 256<<10)
		var bufs [2][]byte
		for range l.n {
			for i := range bufs {
				n, err := binary.ReadUvarint(in)
				if err == nil {
					bufs[i] = append(bufs[i][:0], make([]byte, n)...)
					_, err = io.ReadFull(in, bufs[i])
				}
				if err != nil {
					yield([2][]byte{}, fmt.Errorf("reading what was kept aside: %w", err))
					return
				}
			}
			if !yield(bufs, nil) {
				return
			}
		}
	}
}

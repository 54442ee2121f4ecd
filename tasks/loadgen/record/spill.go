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
	"sync"
)

// Spill holds the outcomes of one stage on disk. Memory is 16 bytes per request. Add may be called from many
// goroutines; the rest from one, after the last Add.
type Spill struct {
	path   string
	prefix string

	mu    sync.Mutex
	f     *os.File
	w     *bufio.Writer
	off   int64
	index []entry
	buf   []byte
	err   error
}

type entry struct{ intended, offset int64 }

// CreateSpill starts the spill file at path, of requests whose ids begin with idPrefix.
func CreateSpill(path, idPrefix string) (*Spill, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("creating spill file: %w", err)
	}
	s := &Spill{path: path, prefix: idPrefix, f: f, w: bufio.NewWriterSize(f, 256<<10)}
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(idPrefix)))
	n, err := s.w.WriteString(string(head) + idPrefix)
	s.off, s.err = int64(n), err
	return s, nil
}

// Add adds o. Its first error is kept and returned by Err, so that a full disk ends the load in order.
func (s *Spill) Add(o *Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.buf = o.appendTo(s.buf[:0])
	if _, err := s.w.Write(s.buf); err != nil {
		s.err = fmt.Errorf("spilling requests: %w", err)
		return
	}
	s.index = append(s.index, entry{o.Intended, s.off})
	s.off += int64(len(s.buf))
}

// Sync hands everything added so far to the kernel, so that a kill does not lose it.
func (s *Spill) Sync() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.w.Flush(); err != nil && s.err == nil {
		s.err = fmt.Errorf("spilling requests: %w", err)
	}
}

// Err returns the first error of writing.
func (s *Spill) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *Spill) sort() error {
	s.Sync()
	slices.SortStableFunc(s.index, func(a, b entry) int { return cmp.Compare(a.intended, b.intended) })
	return s.err
}

// Each calls f with every outcome in order of its intended send. The outcome is valid during the call.
func (s *Spill) Each(f func(i int, o *Outcome) error) error {
	if err := s.sort(); err != nil {
		return err
	}
	var (
		o   Outcome
		buf []byte
	)
	for i, e := range s.index {
		var err error
		if buf, err = readAt(s.f, e.offset, buf); err == nil {
			err = o.decode(buf)
		}
		if err != nil {
			return fmt.Errorf("reading spill file %q: %w", s.path, err)
		}
		if err := f(i, &o); err != nil {
			return err
		}
	}
	return nil
}

// guess is the length that most outcomes fit in: those are read with one call.
const guess = 2 << 10

func readAt(f io.ReaderAt, off int64, buf []byte) ([]byte, error) {
	buf = slices.Grow(buf[:0], guess)[:guess]
	n, err := f.ReadAt(buf, off)
	if n < 4 {
		return nil, err
	}
	need := 4 + int(binary.LittleEndian.Uint32(buf))
	if n >= need {
		return buf[4:need], nil
	}
	buf = slices.Grow(buf, need-len(buf))[:need]
	if _, err := f.ReadAt(buf[n:], off+int64(n)); err != nil {
		return nil, err
	}
	return buf[4:], nil
}

// Remove closes and deletes the file.
func (s *Spill) Remove() error {
	_ = s.f.Close()
	return os.Remove(s.path)
}

// Recover calls f with every whole outcome of a spill file that a killed process left at path, and with the prefix of
// its id; a missing file has none.
func Recover(path string, f func(prefix string, o *Outcome) error) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading spill file: %w", err)
	}
	if len(data) < 4 || len(data)-4 < int(binary.LittleEndian.Uint32(data)) {
		return nil
	}
	n := 4 + int(binary.LittleEndian.Uint32(data))
	prefix, data := string(data[4:n]), data[n:]
	var o Outcome
	for len(data) >= 4 {
		n := int(binary.LittleEndian.Uint32(data))
		if len(data)-4 < n || o.decode(data[4:4+n]) != nil {
			return nil // the kill cut it off here
		}
		if err := f(prefix, &o); err != nil {
			return err
		}
		data = data[4+n:]
	}
	return nil
}

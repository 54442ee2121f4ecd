package imports

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"bflow.dev/bflow/report"
)

// rowSorter brings rows into the order of their intended sends. Tools list them in the order in which they ended, and
// millions are more than memory: they lie in a file without a name, and only their places are sorted.
type rowSorter struct {
	f      *os.File
	out    *bufio.Writer
	size   int64
	places []place
	line   []byte
}

// place is a row in the file.
type place struct {
	intended, at int64
	length       int
}

func newRowSorter(dir string) (*rowSorter, error) {
	f, err := os.CreateTemp(dir, ".rows-*")
	if err != nil {
		return nil, fmt.Errorf("sorting rows: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("sorting rows: %w", err), f.Close())
	}
	return &rowSorter{f: f, out: bufio.NewWriterSize(f, 256<<10)}, nil
}

func (s *rowSorter) add(r *report.Row) error {
	s.line = r.AppendJSON(s.line[:0])
	if _, err := s.out.Write(s.line); err != nil {
		return fmt.Errorf("sorting rows: %w", err)
	}
	s.places = append(s.places, place{intended: r.TIntended, at: s.size, length: len(s.line)})
	s.size += int64(len(s.line))
	return nil
}

// write writes the rows in their order, those of the same send in the order in which they came.
func (s *rowSorter) write(ctx context.Context, to *report.RowWriter) error {
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("sorting rows: %w", err)
	}
	slices.SortFunc(s.places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.intended, b.intended), cmp.Compare(a.at, b.at))
	})
	for _, p := range s.places {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.line = slices.Grow(s.line[:0], p.length)[:p.length]
		if _, err := s.f.ReadAt(s.line, p.at); err != nil {
			return fmt.Errorf("sorting rows: %w", err)
		}
		if err := to.WriteEncoded(s.line); err != nil {
			return err
		}
	}
	return nil
}

func (s *rowSorter) close() { _ = s.f.Close() } // it has no name

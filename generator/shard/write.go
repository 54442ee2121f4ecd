package shard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Writer packs points in the order in which they are added. The zero value is not ready: see NewWriter.
type Writer struct {
	limit  int
	total  int
	pieces []Piece
	open   *piece
}

// NewWriter makes a Writer of pieces of at most limit bytes; 0 = Limit.
func NewWriter(limit int) *Writer {
	if limit <= 0 {
		limit = Limit
	}
	return &Writer{limit: limit}
}

// pending is what a compressor may still hold back.
const pending = 64 << 10

// Add appends a point.
func (w *Writer) Add(p Point) error {
	if w.open == nil {
		w.open = newPiece()
	}
	if err := w.open.add(p); err != nil {
		return fmt.Errorf("packing point %d (%s): %w", w.total+1, p.Name, err)
	}
	w.total++
	if w.open.packed.Len() > w.limit-min(pending, w.limit/2) {
		return w.seal()
	}
	return nil
}

// seal ends the piece that is open. One that has grown too large with its last point is packed again as two.
func (w *Writer) seal() error {
	p := w.open
	w.open = nil
	if err := p.close(); err != nil {
		return err
	}
	if p.packed.Len() <= w.limit {
		w.pieces = append(w.pieces, Piece{Header: Header{Count: len(p.points), Sums: []string{p.sum()}},
			Packed: p.packed.Bytes()})
		return nil
	}
	if len(p.points) == 1 {
		return fmt.Errorf(
			"packing point %s: it has %d bytes when compressed, more than the %d of a piece; give it fewer stages or "+
				"measurements",
			p.points[0].Name, p.packed.Len(), w.limit)
	}
	half := len(p.points) / 2
	for _, points := range [][]Point{p.points[:half], p.points[half:]} {
		w.open = newPiece()
		for _, point := range points {
			if err := w.open.add(point); err != nil {
				return err
			}
		}
		if err := w.seal(); err != nil {
			return err
		}
	}
	return nil
}

// Close returns the pieces, with the root digest in the header of each.
func (w *Writer) Close() ([]Piece, error) {
	if w.open != nil {
		if err := w.seal(); err != nil {
			return nil, err
		}
	}
	if w.total == 0 {
		return nil, errors.New("packing the points of a matrix: there are none")
	}
	var sums []string
	for _, p := range w.pieces {
		sums = append(sums, p.Header.Sums...)
	}
	root, first := rootOf(w.total, sums), 1
	for i := range w.pieces {
		h := &w.pieces[i].Header
		h.Schema, h.Root, h.Total = Schema, root, w.total
		h.First, h.Sums = first, sums
		first += h.Count
	}
	return w.pieces, nil
}

// rootOf is the digest over all pieces.
func rootOf(total int, sums []string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d\n%s", Schema, total, strings.Join(sums, "\n")))
	return hex.EncodeToString(sum[:])
}

// piece is one that is being written.
type piece struct {
	packed    bytes.Buffer
	gzip      *gzip.Writer
	digest    interface{ Sum([]byte) []byte }
	write     func([]byte) error
	points    []Point
	plan, run any // of the first point
}

func newPiece() *piece {
	p := &piece{}
	digest := sha256.New()
	p.gzip, p.digest = gzip.NewWriter(&p.packed), digest
	p.write = func(b []byte) error {
		digest.Write(b)
		_, err := p.gzip.Write(b)
		return err
	}
	return p
}

func (p *piece) add(point Point) error {
	plan, err := decode(point.Plan)
	if err != nil {
		return fmt.Errorf("reading its plan: %w", err)
	}
	run, err := decode(point.Run)
	if err != nil {
		return fmt.Errorf("reading its run: %w", err)
	}
	l := line{Name: point.Name, Lane: point.Lane, Time: int64(point.Expected / time.Second)}
	if len(p.points) == 0 {
		p.plan, p.run = plan, run
		l.Plan, l.Run = point.Plan, point.Run
	} else {
		l.PlanE, l.RunE = diff(p.plan, plan), diff(p.run, run)
	}
	text, err := encode(&l)
	if err != nil {
		return err
	}
	p.points = append(p.points, point)
	return p.write(append(text, '\n'))
}

func (p *piece) close() error { return p.gzip.Close() }

func (p *piece) sum() string { return hex.EncodeToString(p.digest.Sum(nil)) }

package shard

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"bflow.dev/bflow/runplan"
)

// Points are those of a matrix, unpacked one by one when they are asked for. It is safe for concurrent reads.
type Points struct {
	Root  string
	lines []packed
}

// packed is a point that is not unpacked: its line, and that of the first point of its piece.
type packed struct {
	line
	base *line
}

// Read joins pieces, in their order, and checks them against the root digest.
func Read(root string, pieces []Piece) (*Points, error) {
	all := &Points{Root: root}
	for n, p := range pieces {
		if err := p.Header.check(root, n, len(pieces), len(all.lines)); err != nil {
			return nil, fmt.Errorf("reading piece %d of the points: %w", n, err)
		}
		lines, err := unpack(p, n)
		if err != nil {
			return nil, fmt.Errorf("reading piece %d of the points: %w", n, err)
		}
		for i := range lines {
			all.lines = append(all.lines, packed{lines[i], &lines[0]})
		}
	}
	if len(pieces) == 0 || pieces[0].Header.Total != len(all.lines) {
		return nil, fmt.Errorf("reading the points: %d are there, not all of them", len(all.lines))
	}
	return all, nil
}

func (h *Header) check(root string, n, pieces, before int) error {
	switch {
	case h.Schema != Schema:
		return fmt.Errorf("its format is %q, want %q; another version of bflow made it", h.Schema, Schema)
	case h.Root != root || rootOf(h.Total, h.Sums) != root:
		return errors.New("it belongs to another matrix, or was changed")
	case len(h.Sums) != pieces || h.First != before+1 || n >= len(h.Sums):
		return fmt.Errorf("it is not in its place: it begins at point %d of %d pieces", h.First, len(h.Sums))
	}
	return nil
}

func unpack(p Piece, n int) ([]line, error) {
	z, err := gzip.NewReader(bytes.NewReader(p.Packed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(z, Longest+1))
	if err != nil {
		return nil, err
	}
	if len(text) > Longest {
		return nil, fmt.Errorf("it has more than %d bytes", Longest)
	}
	sum := sha256.Sum256(text)
	if p.Header.Sums[n] != hex.EncodeToString(sum[:]) {
		return nil, errors.New("its digest does not match its content; it was changed after it was made")
	}
	return parse(text, p.Header.Count)
}

func parse(text []byte, count int) ([]line, error) {
	var lines []line
	r := bufio.NewReader(bytes.NewReader(text))
	for {
		one, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(one) == 0 {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("point %d is cut", len(lines)+1)
		}
		var l line
		if err := json.Unmarshal(one, &l); err != nil {
			return nil, fmt.Errorf("point %d: %w", len(lines)+1, err)
		}
		lines = append(lines, l)
	}
	if len(lines) != count || count == 0 || lines[0].Plan == nil || lines[0].Run == nil {
		return nil, fmt.Errorf("it holds %d points, want %d, the first of them whole", len(lines), count)
	}
	return lines, nil
}

// Len is how many points there are.
func (p *Points) Len() int { return len(p.lines) }

// About returns what is known of point i, from 0, without unpacking it.
func (p *Points) About(i int) About { return p.lines[i].about() }

// Point unpacks point i, from 0.
func (p *Points) Point(i int) (Point, error) {
	l := p.lines[i]
	out := Point{About: l.about(), Plan: l.base.Plan, Run: l.base.Run}
	if l.Plan != nil {
		return out, nil
	}
	var err error
	if out.Plan, err = patch(l.base.Plan, l.PlanE); err != nil {
		return out, fmt.Errorf("unpacking the plan of point %d (%s): %w", i+1, l.Name, err)
	}
	if out.Run, err = patch(l.base.Run, l.RunE); err != nil {
		return out, fmt.Errorf("unpacking the run of point %d (%s): %w", i+1, l.Name, err)
	}
	return out, nil
}

// patch is base after edits, as canonical JSON.
func patch(base []byte, edits []edit) ([]byte, error) {
	doc, err := decode(base)
	if err != nil {
		return nil, err
	}
	if doc, err = apply(doc, edits); err != nil {
		return nil, err
	}
	return runplan.Canonical(doc)
}

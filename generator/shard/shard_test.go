package shard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/runplan"
)

func makePoint(n int) Point {
	plan := fmt.Sprintf(`{"digest":"%064x","index":%d,"list":[{"a":1.50,"n":%d},{"b":null}],"same":"<&>"}`, n, n, n%7)
	run := fmt.Sprintf(`{"metadata":{"labels":{"l":"%d"}},"spec":{"status":"PipelineRunPending"}}`, n)
	return Point{About: About{Name: fmt.Sprint("p-m", n), Lane: []string{"a", "b"}[n%2],
		Expected: time.Duration(n) * time.Second},
		Plan: canonical(plan), Run: canonical(run)}
}

func canonical(text string) json.RawMessage {
	v, err := decode([]byte(text))
	if err != nil {
		panic(err)
	}
	out, err := runplan.Canonical(v)
	if err != nil {
		panic(err)
	}
	return out
}

func packAll(t testing.TB, limit int, points ...Point) []Piece {
	t.Helper()
	w := NewWriter(limit)
	for _, p := range points {
		if err := w.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	pieces, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return pieces
}

func TestPointsComeBackAsTheyWere(t *testing.T) {
	for _, row := range []struct {
		name     string
		n, limit int
		several  bool
	}{
		{"one point", 1, 0, false},
		{"a few points are one piece", 30, 0, false},
		{"a small limit makes several pieces", 500, 4000, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			var points []Point
			for i := range row.n {
				points = append(points, makePoint(i))
			}
			pieces := packAll(t, row.limit, points...)
			if several := len(pieces) > 1; several != row.several {
				t.Fatalf("%d pieces", len(pieces))
			}
			back, err := Read(pieces[0].Header.Root, pieces)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range points {
				got, err := back.Point(i)
				if err != nil || got.About != want.About || !bytes.Equal(got.Plan, want.Plan) || !bytes.Equal(got.Run, want.Run) {
					t.Fatalf("point %d: %+v, %v\nwant %+v", i, got, err, want)
				}
			}
			for _, p := range pieces {
				if row.limit > 0 && len(p.Packed) > row.limit {
					t.Errorf("a piece of %d bytes", len(p.Packed))
				}
			}
		})
	}
}

func TestEqualPointsAreEqualPieces(t *testing.T) {
	a, b := packAll(t, 0, makePoint(1), makePoint(2)), packAll(t, 0, makePoint(1), makePoint(2))
	if a[0].Header.Root != b[0].Header.Root || !bytes.Equal(a[0].Packed, b[0].Packed) {
		t.Error("they differ")
	}
	if c := packAll(t, 0, makePoint(2), makePoint(1)); c[0].Header.Root == a[0].Header.Root {
		t.Error("the order of points is no part of the digest")
	}
}

func TestPointsThatDoNotShrinkAreDividedOrRefused(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) Point {
		var b strings.Builder
		for range n {
			b.WriteByte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[source.IntN(64)])
		}
		p := makePoint(1)
		p.Plan = canonical(`{"noise":"` + b.String() + `"}`)
		return p
	}
	pieces := packAll(t, 10_000, noise(9000), noise(9000), noise(100))
	if len(pieces) < 2 {
		t.Errorf("%d pieces", len(pieces))
	}
	w := NewWriter(10_000)
	err := w.Add(noise(30_000))
	if err == nil {
		_, err = w.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "give it fewer stages") {
		t.Errorf("got %v", err)
	}
}

func TestDamageIsFound(t *testing.T) {
	var points []Point
	for i := range 1000 {
		points = append(points, makePoint(i))
	}
	fresh := func() []Piece { return packAll(t, 4000, points...) }
	root := fresh()[0].Header.Root
	for _, row := range []struct {
		name string
		do   func(p []Piece) []Piece
		want string
	}{
		{"a piece is missing", func(p []Piece) []Piece { return p[:len(p)-1] }, "not in its place"},
		{"pieces are swapped", func(p []Piece) []Piece { p[0], p[1] = p[1], p[0]; return p }, "not in its place"},
		{"another matrix", func(p []Piece) []Piece { p[0].Header.Root = strings.Repeat("0", 64); return p },
			"another matrix"},
		{"another content", func(p []Piece) []Piece { p[0].Packed = p[1].Packed; return p }, "does not match its content"},
		{"another version", func(p []Piece) []Piece { p[0].Header.Schema = "bflow.points/9"; return p },
			"another version of bflow"},
		{"no gzip", func(p []Piece) []Piece { p[0].Packed = []byte("x"); return p }, "EOF"},
		{"nothing", func([]Piece) []Piece { return nil }, "not all of them"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := Read(root, row.do(fresh())); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q in it", err, row.want)
			}
		})
	}
}

func FuzzEditsMakeOneDocumentOfAnother(f *testing.F) {
	f.Add(`{"a":1}`, `{"a":2,"b":[1,{"c":null}]}`)
	f.Add(`[1,2,{"x":{}}]`, `[1,3,{"x":[]}]`)
	f.Add(`{"a":{"b":1}}`, `{"a":null}`)
	f.Add(`1.0`, `1.00`)
	f.Fuzz(func(t *testing.T, a, b string) {
		was, errA := decode([]byte(a))
		is, errB := decode([]byte(b))
		if errA != nil || errB != nil {
			t.Skip()
		}
		text, err := encode(diff(was, is))
		if err != nil {
			t.Fatal(err)
		}
		var edits []edit
		if err := json.Unmarshal(text, &edits); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := apply(was, edits)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := encode(got)
		y, _ := encode(is)
		if !bytes.Equal(x, y) {
			t.Errorf("%s\nwant %s\nby %s", x, y, text)
		}
	})
}

func FuzzNoPieceBreaksTheReader(f *testing.F) {
	good := packAll(f, 0, makePoint(1), makePoint(2))[0]
	lines, err := unpack(good, 0)
	if err != nil {
		f.Fatal(err)
	}
	for _, l := range lines {
		text, _ := encode(&l)
		f.Add(text)
	}
	f.Fuzz(func(_ *testing.T, text []byte) {
		lines, err := parse(append(bytes.ReplaceAll(text, []byte("\n"), nil), '\n'), 1)
		if err != nil {
			return
		}
		all := &Points{}
		for i := range lines {
			all.lines = append(all.lines, packed{lines[i], &lines[0]})
		}
		for i := range lines {
			_, _ = all.Point(i)
		}
	})
}

// Package dataset reads files of prompts: lines, CSV, JSON lines, Parquet and conversations of ShareGPT. Prompts are
// sent unchanged, without a nonce: a repeated row can hit the server's prefix cache. The package must not know how a
// prompt is sent, or count its tokens.
package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/prompt"
)

// Options say how a file is read.
type Options struct {
	Seed     int64        // of the shuffle
	Turns    int          // most turns of a conversation; 0 = 1
	Client   *http.Client // for https://; nil = one that is led on over https alone
	MaxBytes int64        // of prompts and answers in memory; 0 = 256 MiB
}

// DefaultMaxBytes bounds the texts of a file in memory.
const DefaultMaxBytes = 256 << 20

// Set holds the rows of a file. It is prompt.Rows.
type Set struct {
	Rows    int // conversations
	Skipped int // conversations of the file without a question
	store   store
	rows    []span
	turns   int
	whole   bool // a row is a conversation, not a turn
}

var _ prompt.Rows = (*Set)(nil)

// row is what a parser found.
type row struct {
	turns []turn
	out   int
}

type turn struct{ text, answer string }

// span is a row: turns of the store.
type span struct {
	first uint32
	n     uint32
}

// errEnough ends a parser: the rows that are wanted are there.
var errEnough = errors.New("enough rows")

// Open reads the rows of a file that are to be used, at most file.Limit of them, and no more of the file than that
// takes: all of it only where its checksum is to be verified. Errors name the file and the line.
func Open(ctx context.Context, file runplan.File, o Options) (*Set, error) {
	src, err := open(ctx, file, o.Client)
	if err != nil {
		return nil, err
	}
	defer src.close()
	s := &Set{turns: max(1, o.Turns), whole: file.Format == runplan.FileShareGPT}
	if s.store.most = o.MaxBytes; s.store.most <= 0 {
		s.store.most = DefaultMaxBytes
	}
	if err := s.read(src, file); err != nil {
		return nil, fmt.Errorf("%s: %w", src.name, err)
	}
	s.store.seal()
	if file.Shuffle {
		rng := rand.New(rand.NewPCG(uint64(o.Seed), uint64(len(s.rows))))
		rng.Shuffle(len(s.rows), func(i, j int) { s.rows[i], s.rows[j] = s.rows[j], s.rows[i] })
	}
	return s, nil
}

func (s *Set) read(src *source, file runplan.File) error {
	add := func(r row) error {
		if len(r.turns) == 0 {
			s.Skipped++
			return nil
		}
		if err := s.add(r); err != nil {
			return err
		}
		if file.Limit > 0 && len(s.rows) >= file.Limit {
			return errEnough
		}
		return nil
	}
	if err := parse(src, file, add); err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if err := src.verify(file.SHA256); err != nil {
		return err
	}
	if s.Rows = len(s.rows); s.Rows == 0 {
		return errors.New("it holds no prompt: name another file, or another format or column")
	}
	return nil
}

// parse calls add for each row of the file until it returns an error.
func parse(src *source, file runplan.File, add func(row) error) error {
	want := columns{prompt: file.PromptColumn, output: file.OutputColumn}
	switch file.Format {
	case runplan.FileText:
		return parseText(src, add)
	case runplan.FileCSV:
		return parseCSV(src, want, add)
	case runplan.FileJSONL:
		return parseJSONL(src, want, add)
	case runplan.FileShareGPT:
		return parseShareGPT(src, add)
	case runplan.FileParquet:
		f, size, err := src.file()
		if err != nil {
			return err
		}
		return parseParquet(f, size, want, add)
	}
	return fmt.Errorf("the format %q is not one of text, csv, jsonl, parquet, sharegpt", file.Format)
}

func (s *Set) add(r row) error {
	turns := r.turns[:min(len(r.turns), s.turns)]
	if !s.whole {
		turns = r.turns[:1]
	}
	first := len(s.store.entries)
	for _, t := range turns {
		if err := s.store.add(t, r.out); err != nil {
			return err
		}
	}
	s.rows = append(s.rows, span{uint32(first), uint32(len(turns))})
	return nil
}

// Turn returns turn of a conversation. The rows come in turn, again and again: a conversation of a file of
// conversations is a row; of other files it is as many rows as it has turns.
func (s *Set) Turn(session int64, turn int) (prompt.TurnSpec, bool) {
	if s.whole {
		r := s.rows[session%int64(len(s.rows))]
		if turn >= int(r.n) {
			return prompt.TurnSpec{}, false
		}
		t := s.store.turn(int(r.first) + turn)
		t.Last = turn+1 >= int(r.n)
		return t, true
	}
	if turn >= s.turns {
		return prompt.TurnSpec{}, false
	}
	r := s.rows[(session*int64(s.turns)+int64(turn))%int64(len(s.rows))]
	t := s.store.turn(int(r.first))
	t.Last = turn+1 >= s.turns
	return t, true
}

// maxRecord bounds one line or record of a file, so that a file that is none does not fill the memory.
const maxRecord = 64 << 20

// bounded reads on until a record is longer than any can be.
type bounded struct {
	io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("a record is longer than %d MiB: is the format right?", maxRecord>>20)
	}
	n, err := b.Reader.Read(p)
	b.left -= int64(n)
	return n, err
}

// endRecord says that a record has ended.
func (b *bounded) endRecord() { b.left = maxRecord }

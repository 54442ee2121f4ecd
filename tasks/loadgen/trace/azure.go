package trace

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
	"time"
)

// azure reads the tables of the public Azure traces of LLM inference: comma-separated, with a header that names
// TIMESTAMP, ContextTokens and GeneratedTokens among its columns, in any order. Times are dates of up to 100 ns, with
// or without a zone (2023: 2023-11-16 09:30:12.5000000, 2024: 2024-05-10 00:00:00.010000+00:00), and count from the
// first row.
type azure struct {
	header             bool
	timestamp, in, out int // columns
	fields             [][]byte
	zero               time.Time
	layout             string // that read the date before
	dated              bool
}

func (p *azure) parse(line []byte, r *row) (bool, error) {
	if !p.header && line[0] == '{' {
		return false, errors.New("it is JSON: take format mooncake or jsonl")
	}
	if err := p.split(line); err != nil {
		return false, err
	}
	if !p.header {
		p.header = true
		return false, p.columns()
	}
	if len(p.fields) <= max(p.timestamp, p.in, p.out) {
		return false, fmt.Errorf("it has %d columns, fewer than the header", len(p.fields))
	}
	at, err := p.date(string(p.fields[p.timestamp]))
	if err != nil {
		return false, err
	}
	if !p.dated {
		p.dated, p.zero = true, at
	}
	r.at = int64(at.Sub(p.zero))
	if r.in, err = number([]byte("ContextTokens"), p.fields[p.in], 0); err != nil {
		return false, err
	}
	r.out, err = number([]byte("GeneratedTokens"), p.fields[p.out], 0)
	return true, err
}

// split cuts a line into its columns.
func (p *azure) split(line []byte) error {
	p.fields = p.fields[:0]
	if bytes.IndexByte(line, '"') >= 0 {
		columns, err := csv.NewReader(bytes.NewReader(line)).Read()
		if err != nil {
			return errors.New("its quotes do not match")
		}
		for _, c := range columns {
			p.fields = append(p.fields, bytes.TrimSpace([]byte(c)))
		}
		return nil
	}
	for more := true; more; {
		var field []byte
		field, line, more = bytes.Cut(line, []byte(","))
		p.fields = append(p.fields, bytes.TrimSpace(field))
	}
	return nil
}

// columns finds the columns in the header.
func (p *azure) columns() error {
	for _, c := range []struct {
		name string
		at   *int
	}{{"TIMESTAMP", &p.timestamp}, {"ContextTokens", &p.in}, {"GeneratedTokens", &p.out}} {
		*c.at = -1
		for i, f := range p.fields {
			if strings.EqualFold(string(f), c.name) {
				*c.at = i
			}
		}
		if *c.at < 0 {
			return fmt.Errorf("the header has no column %s: its columns are %.200q", c.name, bytes.Join(p.fields, []byte(",")))
		}
	}
	return nil
}

// date reads a date; without a zone it is taken for UTC.
func (p *azure) date(s string) (time.Time, error) {
	if at, err := time.Parse(p.layout, s); err == nil && p.layout != "" {
		return at, nil
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00",
		"2006-01-02T15:04:05", time.RFC3339} {
		if at, err := time.Parse(layout, s); err == nil {
			p.layout = layout
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("TIMESTAMP %.60q is not a date such as 2023-11-16 09:30:12.5000000", s)
}

package dataset

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// mark may open a file of text; it belongs to no row.
const mark = "\ufeff"

// lines calls each for every line that is not blank.
func lines(r io.Reader, each func(line []byte) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), maxRecord)
	n := 0
	for sc.Scan() {
		n++
		line := sc.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte(mark))
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := each(line); err != nil {
			return at(n, err)
		}
	}
	if err := sc.Err(); err != nil {
		return at(n+1, err)
	}
	return nil
}

// at says in which line an error was found.
func at(line int, err error) error {
	if errors.Is(err, errEnough) {
		return err
	}
	return fmt.Errorf("line %d: %w", line, err)
}

// parseText reads a prompt per line.
func parseText(r io.Reader, add func(row) error) error {
	return lines(r, func(line []byte) error {
		found, err := made(string(line), 0)
		if err != nil {
			return err
		}
		return add(found)
	})
}

// parseCSV reads a table with a header line.
func parseCSV(r io.Reader, want columns, add func(row) error) error {
	b := &bounded{Reader: r, left: maxRecord}
	in := csv.NewReader(b)
	in.ReuseRecord = true
	head, err := in.Read()
	if err != nil {
		return fmt.Errorf("reading the header line: %w", err)
	}
	names := slices.Clone(head)
	names[0] = strings.TrimPrefix(names[0], mark)
	prompt, output, err := want.find(names)
	if err != nil {
		return err
	}
	p, o := slices.Index(names, prompt), slices.Index(names, output)
	for {
		b.endRecord()
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err // it names the line
		}
		line, _ := in.FieldPos(p)
		if err := addCells(cells, p, o, add); err != nil {
			return at(line, err)
		}
	}
}

func addCells(cells []string, p, o int, add func(row) error) error {
	out := 0
	if o >= 0 {
		var err error
		if out, err = tokens(cells[o]); err != nil {
			return err
		}
	}
	found, err := made(cells[p], out)
	if err != nil {
		return err
	}
	return add(found)
}

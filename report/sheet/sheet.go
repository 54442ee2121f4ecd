// Package sheet writes CSV that is safe to open in a spreadsheet. It must not know what the columns mean.
package sheet

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Writer is a csv.Writer whose cells no spreadsheet takes for a formula: names of models, errors of servers and words
// of experiments are other people's text.
type Writer struct {
	out *csv.Writer
	row []string // kept between calls
}

// NewWriter returns a writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{out: csv.NewWriter(w)} }

// Write writes one row, which it does not change.
func (w *Writer) Write(row []string) error {
	if !slices.ContainsFunc(row, formula) {
		return w.out.Write(row)
	}
	w.row = w.row[:0]
	for _, cell := range row {
		if formula(cell) {
			cell = "'" + cell
		}
		w.row = append(w.row, cell)
	}
	return w.out.Write(w.row)
}

// Flush writes what is buffered.
func (w *Writer) Flush() { w.out.Flush() }

// Error returns what went wrong in an earlier Write or Flush.
func (w *Writer) Error() error { return w.out.Error() }

// formula says whether a spreadsheet would compute a cell: by its first character, as OWASP lists them under "CSV
// Injection". A number is left one, whatever its sign.
func formula(cell string) bool {
	if cell == "" || !strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) {
		return false
	}
	_, err := strconv.ParseFloat(cell, 64)
	return err != nil
}

package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/klauspost/compress/gzip"

	"bflow.dev/bflow/internal/durable"
)

// RowWriter writes requests.jsonl.gz. Rows go to a file beside it first, one gzip member per Flush, so that what was
// flushed survives a kill; Finish puts the header, which is only known at the end, before them and gives the file its
// name. Members of gzip simply follow each other, so nothing is compressed twice.
type RowWriter struct {
	path string
	f    *os.File
	out  *bufio.Writer
	gz   *gzip.Writer
	buf  []byte // rows that are not compressed yet
	open bool   // a member was begun
}

// PartRows is the file beside path that holds the rows until they are finished.
func PartRows(path string) string { return path + ".part" }

// CreateRows starts the rows of path.
func CreateRows(path string) (*RowWriter, error) {
	f, err := durable.CreateGrowing(PartRows(path))
	if err != nil {
		return nil, fmt.Errorf("creating rows: %w", err)
	}
	return &RowWriter{path: path, f: f}, nil
}

// ReopenRows goes on with the rows that a killed process had flushed for path. What follows the last whole member of
// gzip is cut off.
func ReopenRows(path string) (*RowWriter, error) {
	f, err := os.OpenFile(PartRows(path), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("reopening rows: %w", err)
	}
	size, err := wholeMembers(f)
	if err == nil {
		err = f.Truncate(size)
	}
	if err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("reopening rows %q: %w", path, err)
	}
	return &RowWriter{path: path, f: f}, nil
}

// wholeMembers returns the length of the members of gzip that are whole.
func wholeMembers(f *os.File) (int64, error) {
	in := bufio.NewReader(f)
	whole := int64(0)
	for {
		gz, err := gzip.NewReader(in)
		if err != nil {
			return whole, nil
		}
		gz.Multistream(false)
		if _, err := io.Copy(io.Discard, gz); err != nil {
			return whole, nil
		}
		read, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return whole, err
		}
		whole = read - int64(in.Buffered())
	}
}

// Write adds a row. Rows come in order of TIntended.
func (w *RowWriter) Write(r *Row) error {
	w.buf = append(r.AppendJSON(w.buf), '\n')
	return w.compressBlock()
}

// WriteEncoded adds a row as AppendJSON has encoded it. Rows come in order of TIntended.
func (w *RowWriter) WriteEncoded(row []byte) error {
	w.buf = append(append(w.buf, row...), '\n')
	return w.compressBlock()
}

func (w *RowWriter) compressBlock() error {
	if len(w.buf) < block {
		return nil
	}
	return w.compress()
}

// block is how much text is compressed at a time.
const block = 256 << 10

func (w *RowWriter) compress() error {
	if err := w.begin(); err != nil {
		return fmt.Errorf("compressing rows: %w", err)
	}
	_, err := w.gz.Write(w.buf)
	w.buf = w.buf[:0]
	if err != nil {
		return fmt.Errorf("writing rows %q: %w", w.path, err)
	}
	return nil
}

func (w *RowWriter) begin() (err error) {
	switch {
	case w.open:
		return nil
	case w.gz == nil:
		w.out = bufio.NewWriterSize(w.f, block) // the compressor writes a quarter of a kilobyte at a time
		w.gz, err = gzip.NewWriterLevel(w.out, gzip.BestSpeed)
	default:
		w.gz.Reset(w.out)
	}
	w.open = err == nil
	return err
}

// Flush ends the gzip member: every row written so far can be read.
func (w *RowWriter) Flush() error {
	if len(w.buf) > 0 {
		if err := w.compress(); err != nil {
			return err
		}
	}
	if !w.open {
		return nil
	}
	w.open = false
	if err := errors.Join(w.gz.Close(), w.out.Flush()); err != nil {
		return fmt.Errorf("writing rows %q: %w", w.path, err)
	}
	return nil
}

// Finish flushes, writes the header and the rows under their name, and closes the writer.
func (w *RowWriter) Finish(h Header) error {
	if err := errors.Join(w.Flush(), w.f.Close()); err != nil {
		return err
	}
	return FinishRows(w.path, h)
}

// FinishRows puts header h before the rows that a RowWriter of path has flushed and gives the file its name.
func FinishRows(path string, h Header) error {
	if err := finishRows(path, h); err != nil {
		return fmt.Errorf("finishing rows %q: %w", path, err)
	}
	return os.Remove(PartRows(path))
}

func finishRows(path string, h Header) error {
	h.Schema = RequestsSchema
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	part, err := os.Open(PartRows(path))
	if err != nil {
		return err
	}
	defer part.Close()
	whole, err := durable.Create(path)
	if err != nil {
		return err
	}
	defer whole.Discard()
	gz := gzip.NewWriter(whole)
	_, err = gz.Write(append(line, '\n'))
	err = errors.Join(err, gz.Close())
	if err == nil {
		_, err = io.Copy(whole, part)
	}
	if err != nil {
		return err
	}
	return whole.Commit()
}

// RowReader reads requests.jsonl.gz row by row.
type RowReader struct {
	Header Header
	path   string
	f      *os.File
	ahead  *readAhead
	in     *bufio.Reader
	long   []byte // a line that is longer than the buffer
	parser rowParser
}

// OpenRows opens the file at path and reads its header. An unknown schema is an error.
func OpenRows(path string) (*RowReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading rows: %w", err)
	}
	gz, err := gzip.NewReader(bufio.NewReaderSize(f, block))
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("reading rows %q: %w", path, err)
	}
	r := &RowReader{path: path, f: f, ahead: newReadAhead(gz)}
	r.in = bufio.NewReaderSize(r.ahead, block)
	line, err := r.line()
	if err == nil {
		err = json.Unmarshal(line, &r.Header)
	}
	if err == nil && r.Header.Schema != RequestsSchema {
		err = fmt.Errorf("schema %q is not %q", r.Header.Schema, RequestsSchema)
	}
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("reading the header of %q: %w", path, err)
	}
	return r, nil
}

// line returns the next line that is not blank, valid until the next call; io.EOF after the last.
func (r *RowReader) line() ([]byte, error) {
	for {
		line, err := r.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			r.long = append(r.long[:0], line...)
			var rest []byte
			rest, err = r.in.ReadBytes('\n')
			r.long = append(r.long, rest...)
			line = r.long
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && errors.Is(err, io.EOF) {
			err = nil // the last line has no end
		}
		if err != nil || len(line) > 0 {
			return line, err
		}
	}
}

// Next returns the next row, io.EOF after the last.
func (r *RowReader) Next() (Row, error) {
	var row Row
	line, err := r.line()
	if err == nil {
		err = r.parser.decode(line, &row)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("reading rows %q: %w", r.path, err)
	}
	return row, err
}

// Skip passes over n rows; fewer are no error.
func (r *RowReader) Skip(n int) error {
	for range n {
		if _, err := r.line(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading rows %q: %w", r.path, err)
		}
	}
	return nil
}

// All returns the rows from here on; a row that cannot be read ends them with its error.
func (r *RowReader) All() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for {
			row, err := r.Next()
			if errors.Is(err, io.EOF) || !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// Close closes the file.
func (r *RowReader) Close() error {
	r.ahead.Close()
	return r.f.Close()
}

// ReadRows returns header and rows of the file at path, all in memory.
func ReadRows(path string) (Header, []Row, error) {
	r, err := OpenRows(path)
	if err != nil {
		return Header{}, nil, err
	}
	defer r.Close()
	var rows []Row
	for row, err := range r.All() {
		if err != nil {
			return r.Header, rows, err
		}
		rows = append(rows, row)
	}
	return r.Header, rows, nil
}

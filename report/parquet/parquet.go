// Package parquet writes rows as requests.parquet, for queries with SQL or pandas: the columns of package report plus
// derived times in ms. It must not compute the numbers of a stage or know where rows come from.
package parquet

import (
	"bufio"
	"errors"
	"fmt"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
)

// File is the name of the rows in measurements/<n>/.
const File = "requests.parquet"

// groupRows is the size of a row group: what a writer holds in memory.
const groupRows = 32 << 10

// Writer writes rows.
type Writer struct {
	path    string
	f       *durable.File
	buf     *bufio.Writer
	w       *pq.GenericWriter[any]
	columns []column // in the order of the file
	row     pq.Row
	inGroup int
}

// Create starts the file at path; it can be read after Close.
func Create(path string) (*Writer, error) {
	f, err := durable.Create(path)
	if err != nil {
		return nil, fmt.Errorf("creating %q: %w", path, err)
	}
	w := &Writer{path: path, f: f, buf: bufio.NewWriterSize(f, 256<<10)}
	group, byName := pq.Group{}, map[string]column{}
	for _, c := range columns() {
		group[c.name], byName[c.name] = c.node(), c
	}
	schema := pq.NewSchema("requests", group)
	for _, leaf := range schema.Columns() {
		w.columns = append(w.columns, byName[leaf[0]])
	}
	w.w = pq.NewGenericWriter[any](w.buf, schema, pq.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		pq.KeyValueMetadata("schema", report.RequestsSchema))
	return w, nil
}

// Write adds a row, which it does not keep.
func (w *Writer) Write(r *report.Row) error {
	w.row = w.row[:0]
	for i := range w.columns {
		w.row = w.columns[i].append(w.row, r, i)
	}
	_, err := w.w.WriteRows([]pq.Row{w.row})
	if w.inGroup++; err == nil && w.inGroup == groupRows {
		err, w.inGroup = w.w.Flush(), 0
	}
	if err != nil {
		return fmt.Errorf("writing %q: %w", w.path, err)
	}
	return nil
}

// Close ends the file and gives it its name.
func (w *Writer) Close() error {
	defer w.f.Discard()
	err := errors.Join(w.w.Close(), w.buf.Flush())
	if err == nil {
		err = w.f.Commit()
	}
	if err != nil {
		return fmt.Errorf("closing %q: %w", w.path, err)
	}
	return nil
}

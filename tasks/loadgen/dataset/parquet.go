package dataset

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// parseParquet reads two columns of a Parquet file, row group by row group.
func parseParquet(r io.ReaderAt, size int64, want columns, add func(row) error) (err error) {
	defer func() { // the reader trusts what pages say of themselves
		if p := recover(); p != nil {
			err = fmt.Errorf("it is a damaged Parquet file: %v", p)
		}
	}()
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("it is not a Parquet file: %w", err)
	}
	names := make([]string, 0, 8)
	for _, field := range f.Schema().Fields() {
		names = append(names, field.Name())
	}
	prompt, output, err := want.find(names)
	if err != nil {
		return err
	}
	p, err := flat(f.Schema(), prompt, true)
	if err != nil {
		return err
	}
	o := -1
	if output != "" {
		if o, err = flat(f.Schema(), output, false); err != nil {
			return err
		}
	}
	n := 0
	for _, group := range f.RowGroups() {
		if err := readGroup(group, p, o, &n, add); err != nil {
			return err
		}
	}
	return nil
}

// flat returns the index of a column with one value per row: a text, or a number.
func flat(schema *parquet.Schema, name string, text bool) (int, error) {
	leaf, ok := schema.Lookup(name)
	if !ok || leaf.MaxRepetitionLevel > 0 {
		return 0, fmt.Errorf("its column %q holds lists or records: name one with a single value per row", name)
	}
	kind := leaf.Node.Type().Kind()
	number := kind == parquet.Int32 || kind == parquet.Int64 || kind == parquet.Double || kind == parquet.Float
	if text && kind != parquet.ByteArray || !text && !number {
		return 0, fmt.Errorf("its column %q is of type %s, which is not a %s",
			name, kind, map[bool]string{true: "text", false: "number"}[text])
	}
	return leaf.ColumnIndex, nil
}

func readGroup(group parquet.RowGroup, p, o int, n *int, add func(row) error) error {
	texts := &cursor{pages: group.ColumnChunks()[p].Pages()}
	defer texts.close()
	var outs *cursor
	if o >= 0 {
		outs = &cursor{pages: group.ColumnChunks()[o].Pages()}
		defer outs.close()
	}
	for range group.NumRows() {
		*n++
		if err := readRow(texts, outs, add); errors.Is(err, errEnough) {
			return err
		} else if err != nil {
			return fmt.Errorf("row %d: %w", *n, err)
		}
	}
	return nil
}

func readRow(texts, outs *cursor, add func(row) error) error {
	v, err := texts.next()
	if err != nil {
		return err
	}
	text := string(v.ByteArray()) // of a null: empty
	out := 0
	if outs != nil {
		if v, err = outs.next(); err != nil {
			return err
		}
		if out, err = number(v); err != nil {
			return err
		}
	}
	found, err := made(text, out)
	if err != nil {
		return err
	}
	return add(found)
}

func number(v parquet.Value) (int, error) {
	switch {
	case v.IsNull():
		return 0, nil
	case v.Kind() == parquet.Int32:
		return count(float64(v.Int32()))
	case v.Kind() == parquet.Int64:
		return count(float64(v.Int64()))
	case v.Kind() == parquet.Float:
		return count(float64(v.Float()))
	}
	return count(v.Double())
}

// cursor reads a column value by value.
type cursor struct {
	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
	buf    [64]parquet.Value
	have   []parquet.Value
}

func (c *cursor) next() (parquet.Value, error) {
	for len(c.have) == 0 {
		if err := c.fill(); err != nil {
			return parquet.Value{}, err
		}
	}
	v := c.have[0]
	c.have = c.have[1:]
	return v, nil
}

// fill reads more values, of the next page when this one has ended.
func (c *cursor) fill() error {
	if c.values != nil {
		n, err := c.values.ReadValues(c.buf[:])
		if c.have = c.buf[:n]; n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		parquet.Release(c.page)
		c.page, c.values = nil, nil
	}
	page, err := c.pages.ReadPage()
	if err != nil {
		return fmt.Errorf("reading a page: %w", err)
	}
	c.page, c.values = page, page.Values()
	return nil
}

func (c *cursor) close() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	_ = c.pages.Close()
}

package tools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"
)

// Document is a file to be read, without what may be secret. Path names it in errors.
type Document struct {
	Path    string
	Data    []byte    // the first value of JSON with its long lists empty, or the whole of another text
	Written time.Time // when the file was written last; zero = it is no file
	Hidden  int       // how many values that may be secret were taken out
	Broken  error     // why the file cannot be read to its end, so that it is not to be kept or believed

	raw   []byte // Data as it was
	edits []edit // that lead from raw to Data
	lists []*list
	spill *spill
	long  Long
}

// Element is an element of a long list of a document: JSON, overwritten by the next one.
type Element = []byte

// OpenDocument reads the file at path, whose long lists are told by long. Elements of these are read again where they
// are; those that hold what may be secret are kept aside without it, in a file in scratch, until the document is
// forgotten. An error is one of reading; what the file holds is in Broken.
func OpenDocument(ctx context.Context, path, scratch string, long Long) (Document, error) {
	f, err := os.Open(path)
	if err != nil {
		return Document{}, fmt.Errorf("reading results: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return Document{}, fmt.Errorf("reading results: %w", err)
	}
	from := &source{f: f, size: info.Size(), written: info.ModTime()}
	if !info.Mode().IsRegular() {
		from = nil
	}
	doc, err := readDocument(ctx, path, f, scratch, long, from)
	doc.Written = info.ModTime()
	if doc.spill == nil || from == nil {
		f.Close()
	}
	return doc, err
}

// NoTimeOfDay is noted of results whose times are those of their files.
const NoTimeOfDay = "the files say no time of day: the run ended when they were written"

// End is when the run ended whose file says no time of day, in unix s: tools write their results then. What is no file
// has one end for ever, so that reading it twice gives the same.
func (d *Document) End() float64 {
	if d.Written.IsZero() {
		return 1e9
	}
	return float64(d.Written.UnixNano()) / 1e9
}

// ReadDocument is OpenDocument of a text that lies elsewhere.
func ReadDocument(ctx context.Context, path string, from io.Reader, scratch string, long Long) (Document, error) {
	return readDocument(ctx, path, from, scratch, long, nil)
}

// readDocument keeps elements in the file that the text is of, where it is of one.
func readDocument(ctx context.Context, path string, text io.Reader, scratch string, long Long,
	file *source) (Document, error) {
	doc := Document{Path: path}
	in := bufio.NewReaderSize(text, 1<<20)
	if bom, err := in.Peek(3); err == nil && bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(len(bom))
		if file != nil {
			file.skipped = int64(len(bom))
		}
	}
	if !isJSON(in) {
		data, err := io.ReadAll(io.LimitReader(in, largestYAML+1))
		if err != nil {
			return doc, fmt.Errorf("reading results: %w", err)
		}
		doc.raw = data
		if doc.Data, doc.Hidden, doc.Broken = scrubYAML(data); doc.Broken == nil && doc.Hidden > 0 {
			doc.raw = doc.Data
		}
		return doc, nil
	}
	kept, err := newSpill(scratch, file)
	if err != nil {
		return doc, err
	}
	return readInto(ctx, path, in, kept, long, file != nil)
}

// readInto reads JSON and keeps the elements of its long lists in a spill. inFile says whether the text is that of the
// spill's file.
func readInto(ctx context.Context, path string, text io.Reader, kept *spill, long Long, inFile bool) (Document, error) {
	doc := Document{Path: path, long: long}
	s := &splitter{
		ctx: ctx, in: bufio.NewReaderSize(text, 1<<20), spill: kept, scrub: newScrubber(), long: long,
		inFile: inFile,
	}
	doc.Broken = s.read()
	if ctx.Err() != nil {
		return doc, fmt.Errorf("reading %q: %w", path, ctx.Err())
	}
	doc.raw, doc.lists, doc.spill = s.skeleton, s.lists, kept
	if !json.Valid(doc.raw) {
		if doc.Broken == nil {
			doc.Broken = errShape
		}
		return doc, nil
	}
	final := newScrubber()
	var hidden int
	doc.Data, hidden = final.document(doc.raw, 0)
	doc.edits, doc.Hidden = final.edits, hidden+s.hidden
	return doc, nil
}

// isJSON says whether a text begins as an object or a list does.
func isJSON(in *bufio.Reader) bool {
	for n := 1; ; n++ {
		b, err := in.Peek(n)
		if err != nil {
			return false
		}
		switch b[n-1] {
		case '{', '[':
			return true
		case ' ', '\n', '\t', '\r':
		default:
			return false
		}
	}
}

// Len returns the number of elements of the long list at path, such as "benchmarks[0].requests.successful"; 0 where
// there is none.
func (d *Document) Len(path string) int {
	if l := d.list(path); l != nil {
		return l.n
	}
	return 0
}

func (d *Document) list(path string) *list {
	for _, l := range d.lists {
		if l.path == path {
			return l
		}
	}
	return nil
}

// Each yields the elements of the long list at path. It ends with the error of ctx once that is done.
func (d *Document) Each(ctx context.Context, path string) iter.Seq2[Element, error] {
	return func(yield func(Element, error) bool) {
		l := d.list(path)
		if l == nil {
			return
		}
		for parts, err := range d.spill.each(l) {
			if err = errors.Join(err, ctx.Err()); !yield(parts[1], err) || err != nil {
				return
			}
		}
	}
}

// Values yields the values of a document of JSON by lines.
func (d *Document) Values(ctx context.Context) iter.Seq2[Element, error] {
	return func(yield func(Element, error) bool) {
		if len(d.Data) == 0 || !yield(d.Data, nil) {
			return
		}
		for element, err := range d.Each(ctx, moreValues) {
			if !yield(element, err) {
				return
			}
		}
	}
}

// Split returns a document for each value of JSON by lines, the one itself where there is no other.
func (d *Document) Split(ctx context.Context) ([]Document, error) {
	if d.Len(moreValues) == 0 {
		return []Document{*d}, nil
	}
	first := *d
	first.Path = d.Path + ":1"
	out := []Document{first}
	for value, err := range d.Each(ctx, moreValues) {
		if err != nil {
			return nil, err
		}
		one, err := readInto(ctx, fmt.Sprintf("%s:%d", d.Path, len(out)+1), bytes.NewReader(value), d.spill, d.long,
			false)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// Write writes the document as it was, without what may be secret.
func (d *Document) Write(ctx context.Context, w io.Writer) error {
	out := bufio.NewWriterSize(w, 256<<10)
	lists, done := d.lists, 0
	copyTo := func(end int, visible bool) error {
		for len(lists) > 0 && lists[0].at <= end {
			if visible {
				_, _ = out.Write(d.raw[done:lists[0].at]) // an error stays until Flush
				if err := d.writeList(ctx, out, lists[0]); err != nil {
					return err
				}
			}
			done, lists = lists[0].at, lists[1:]
		}
		if visible {
			_, _ = out.Write(d.raw[done:end])
		}
		done = end
		return nil
	}
	for _, e := range d.edits {
		if err := copyTo(e.from, true); err != nil {
			return err
		}
		if err := copyTo(e.to, false); err != nil {
			return err
		}
		io.WriteString(out, e.text)
	}
	if err := copyTo(len(d.raw), true); err != nil {
		return err
	}
	return out.Flush()
}

func (d *Document) writeList(ctx context.Context, out *bufio.Writer, l *list) error {
	for parts, err := range d.spill.each(l) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		_, _ = out.Write(parts[0])
		_, _ = out.Write(parts[1])
	}
	return nil
}

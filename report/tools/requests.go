package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"bflow.dev/bflow/report"
)

// Requests are requests of a stage in order of their intended sends. Their numbers are in memory, about 40 bytes each;
// texts and gaps stay on disk, where every walk over All reads them again. A nil *Requests has none.
type Requests struct {
	path    string
	numbers *packed
	keep    func(r *report.Row) bool // nil = all
	n       int
}

// Len returns the number of requests.
func (q *Requests) Len() int {
	if q == nil {
		return 0
	}
	return q.n
}

// Add keeps the numbers of the row that is the given one of its file; these ascend.
func (q *Requests) Add(number int, r *report.Row) {
	if q.numbers == nil {
		q.numbers = &packed{}
	}
	q.numbers.add(number, r)
	q.n++
}

// HasGaps says whether gaps between token events were recorded of any of the stage.
func (q *Requests) HasGaps() bool { return q.Len() > 0 && q.numbers.gaps }

// Only returns those of the requests that keep accepts. It sees what Numbers yields.
func (q *Requests) Only(keep func(r *report.Row) bool) *Requests {
	if q == nil {
		return nil
	}
	out := &Requests{path: q.path, numbers: q.numbers, keep: func(r *report.Row) bool { return q.keeps(r) && keep(r) }}
	for range out.Numbers() {
		out.n++
	}
	return out
}

func (q *Requests) keeps(r *report.Row) bool { return q.keep == nil || q.keep(r) }

// Numbers yields what totals are made of: sample, status, class of the error, stamps, waits, counts of tokens and
// events, bytes sent. The row is the same one each time, overwritten by the next.
func (q *Requests) Numbers() iter.Seq[*report.Row] {
	return func(yield func(*report.Row) bool) {
		if q == nil || q.numbers == nil {
			return
		}
		for _, r := range q.numbers.all() {
			if q.keeps(r) && !yield(r) {
				return
			}
		}
	}
}

// All reads the requests with all that is known of them. It ends with the error of ctx once that is done, and with that
// of a row that cannot be read.
func (q *Requests) All(ctx context.Context) iter.Seq2[*report.Row, error] {
	return func(yield func(*report.Row, error) bool) {
		if q.Len() == 0 {
			return
		}
		in, err := report.OpenRows(q.path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer in.Close()
		next := 0 // number of the row that the reader is at
		for number, r := range q.numbers.all() {
			if !q.keeps(r) {
				continue
			}
			row, err := readAt(ctx, in, number-next)
			if next = number + 1; !yield(&row, err) || err != nil {
				return
			}
		}
	}
}

// readAt passes over rows and returns the one after them.
func readAt(ctx context.Context, in *report.RowReader, skip int) (report.Row, error) {
	if err := ctx.Err(); err != nil {
		return report.Row{}, err
	}
	if err := in.Skip(skip); err != nil {
		return report.Row{}, err
	}
	row, err := in.Next()
	if errors.Is(err, io.EOF) { // there were more when they were counted
		err = fmt.Errorf("reading rows: %w", io.ErrUnexpectedEOF)
	}
	return row, err
}

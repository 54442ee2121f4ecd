package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"reflect"

	"bflow.dev/bflow/report"
)

// Stream is a list of a format whose elements are made while it is written, and read one by one, so that no more than
// one is in memory. A nil Stream is null, or absent where its member is omitted when empty.
type Stream[T any] func(ctx context.Context) iter.Seq2[T, error]

// streamed is a Stream of any type.
type streamed interface {
	element() reflect.Type
	elements(ctx context.Context) iter.Seq2[reflect.Value, error]
}

func (Stream[T]) element() reflect.Type { return reflect.TypeFor[T]() }

// elements yields one value again and again, with each element in turn.
func (s Stream[T]) elements(ctx context.Context) iter.Seq2[reflect.Value, error] {
	return func(yield func(reflect.Value, error) bool) {
		var cell T
		v := reflect.ValueOf(&cell).Elem()
		for element, err := range s(ctx) {
			if cell = element; !yield(v, err) {
				return
			}
		}
	}
}

// First returns a stream of the first n elements.
func (s Stream[T]) First(n int) Stream[T] {
	if s == nil {
		return nil
	}
	return func(ctx context.Context) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			left := n
			for element, err := range s(ctx) {
				if left--; left < 0 || !yield(element, err) {
					return
				}
			}
		}
	}
}

// UnmarshalJSON reads the elements into memory. The long lists of a Document are empty here: Elements reads them. What
// is no list of such elements is a nil Stream: with an error encoding/json would read nothing that stands behind it.
func (s *Stream[T]) UnmarshalJSON(data []byte) error {
	elements := []T{}
	if bytes.HasPrefix(data, []byte("[")) && json.Unmarshal(data, &elements) == nil {
		*s = StreamOf(elements)
	}
	return nil
}

// StreamOf returns a stream of what is in memory.
func StreamOf[T any](elements []T) Stream[T] {
	return func(context.Context) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			for _, element := range elements {
				if !yield(element, nil) {
					return
				}
			}
		}
	}
}

// StreamRequests returns a stream with what as makes of each request, read from disk while it is written.
func StreamRequests[T any](of *Requests, as func(r *report.Row) T) Stream[T] {
	return func(ctx context.Context) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			for r, err := range of.All(ctx) {
				var v T
				if err == nil {
					v = as(r)
				}
				if !yield(v, err) || err != nil {
					return
				}
			}
		}
	}
}

// StreamNumbers returns a stream with what as makes of the numbers of each request, which are in memory.
func StreamNumbers[T any](of *Requests, as func(r *report.Row) T) Stream[T] {
	return func(ctx context.Context) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			for r := range of.Numbers() {
				if !yield(as(r), ctx.Err()) {
					return
				}
			}
		}
	}
}

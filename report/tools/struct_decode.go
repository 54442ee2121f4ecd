package tools

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"sync"
)

// Elements returns the elements of the long list at path of a document, each decoded as Decode does.
func Elements[T any](doc *Document, path string) Stream[T] { return SomeElements[T](doc, path, nil) }

// SomeElements returns those elements whose number in the list is wanted, as Elements does.
func SomeElements[T any](doc *Document, path string, wanted func(i int) bool) Stream[T] {
	return decoding[T](doc.Len(path), elementSource{wanted: wanted,
		all: func(ctx context.Context) iter.Seq2[Element, error] { return doc.Each(ctx, path) },
		where: func(i int) string {
			if path == "" {
				return fmt.Sprintf("%s: [%d]", doc.Path, i)
			}
			return fmt.Sprintf("%s: %s[%d]", doc.Path, path, i)
		}})
}

// Values returns the values of a document of JSON by lines, each decoded as Decode does.
func Values[T any](doc *Document) Stream[T] {
	return decoding[T](doc.Len(moreValues)+1, elementSource{all: doc.Values,
		where: func(i int) string { return fmt.Sprintf("%s:%d", doc.Path, i+1) }})
}

// elementSource is what is decoded.
type elementSource struct {
	all    Stream[Element]
	wanted func(i int) bool   // nil = each
	where  func(i int) string // names the place of the i-th in an error
}

// some yields the wanted elements with their numbers.
func (e *elementSource) some(ctx context.Context) iter.Seq2[numberedElement, error] {
	return func(yield func(numberedElement, error) bool) {
		i := 0
		for element, err := range e.all(ctx) {
			if (err != nil || e.wanted == nil || e.wanted(i)) && !yield(numberedElement{element, i}, err) {
				return
			}
			i++
		}
	}
}

// numberedElement is an element with its number in the list.
type numberedElement struct {
	Element
	i int
}

// manyElements is from how many on elements are decoded by several at once.
const manyElements = 1 << 10

// decoding decodes elements of a list of n.
func decoding[T any](n int, from elementSource) Stream[T] {
	if n >= manyElements {
		return func(ctx context.Context) iter.Seq2[T, error] { return decodeMany[T](ctx, from) }
	}
	return func(ctx context.Context) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			var v T
			d := newDecoder[T](from.where)
			for element, err := range from.some(ctx) {
				if err == nil {
					err = d.decode(element.i, element.Element, &v)
				}
				if !yield(v, err) || err != nil {
					return
				}
			}
		}
	}
}

// decoder decodes one element after the other.
type decoder[T any] struct {
	read  *elementReader
	where func(i int) string
}

func newDecoder[T any](where func(i int) string) decoder[T] {
	return decoder[T]{newElementReader(reflect.TypeFor[T]()), where}
}

func (d decoder[T]) decode(i int, element Element, to *T) error {
	into := reflect.ValueOf(to).Elem()
	into.SetZero()
	if d.read.read(element, into) {
		return nil
	}
	into.SetZero()
	return decode(element, to, func() string { return d.where(i) })
}

// batch is some elements on their way through one of several decoders.
type batch[T any] struct {
	text    []byte
	ends    []int // of the elements, in text
	numbers []int // of the elements, in the list
	values  []T
	err     error // what came instead of the next value
	decoded chan struct{}
}

// A batch ends with the element that reaches one of these.
const (
	batchText     = 128 << 10
	batchElements = 512
)

// decoders are several at work, with the batches on their way in the order of the list.
type decoders[T any] struct {
	from                 elementSource
	ordered, todo, empty chan *batch[T]
	stop                 chan struct{}
	workers              sync.WaitGroup
}

// decodeMany yields what a single decoder does.
func decodeMany[T any](ctx context.Context, from elementSource) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		n := min(4, runtime.GOMAXPROCS(0)) // more is less than what walks over the text can serve
		d := &decoders[T]{from: from, stop: make(chan struct{}), ordered: make(chan *batch[T], n+1),
			todo: make(chan *batch[T], n+1), empty: make(chan *batch[T], n+1)}
		for range n + 1 {
			d.empty <- &batch[T]{decoded: make(chan struct{}, 1)}
		}
		d.workers.Go(func() { d.fill(ctx) })
		for range n {
			d.workers.Go(d.work)
		}
		defer d.workers.Wait()
		defer close(d.stop)
		for b := range d.ordered {
			<-b.decoded
			for i := range b.values {
				if !yield(b.values[i], nil) {
					return
				}
			}
			if b.err != nil {
				var none T
				yield(none, b.err)
				return
			}
			d.empty <- b
		}
	}
}

// fill makes batches of the elements until somebody stops it.
func (d *decoders[T]) fill(ctx context.Context) {
	defer close(d.ordered)
	defer close(d.todo)
	b := d.next()
	for element, err := range d.from.some(ctx) {
		if b == nil {
			return
		}
		if err != nil {
			b.err = err
			break
		}
		b.text = append(b.text, element.Element...)
		b.ends, b.numbers = append(b.ends, len(b.text)), append(b.numbers, element.i)
		if len(b.text) >= batchText || len(b.ends) >= batchElements {
			d.send(b)
			b = d.next()
		}
	}
	if b != nil {
		d.send(b)
	}
}

// next returns an empty batch, nil once nobody wants one.
func (d *decoders[T]) next() *batch[T] {
	select {
	case b := <-d.empty:
		b.text, b.ends, b.numbers = b.text[:0], b.ends[:0], b.numbers[:0]
		return b
	case <-d.stop:
		return nil
	}
}

func (d *decoders[T]) send(b *batch[T]) { // there is room for every batch
	d.ordered <- b
	d.todo <- b
}

func (d *decoders[T]) work() {
	one := newDecoder[T](d.from.where)
	for b := range d.todo {
		b.decode(one)
		b.decoded <- struct{}{}
	}
}

func (b *batch[T]) decode(d decoder[T]) {
	b.values = append(b.values[:0], make([]T, len(b.ends))...)
	from := 0
	for i, end := range b.ends {
		if err := d.decode(b.numbers[i], b.text[from:end], &b.values[i]); err != nil {
			b.values, b.err = b.values[:i], err
			return
		}
		from = end
	}
	if cap(b.text) > 4*batchText { // of one that is long
		b.text = nil
	}
}

package loadgen

// queue holds things in order, without giving back its memory.
type queue[T any] struct {
	items []T
	first int
}

func (q *queue[T]) len() int { return len(q.items) - q.first }

func (q *queue[T]) push(x T) { q.items = append(q.items, x) }

// head returns the first, the zero value where there is none.
func (q *queue[T]) head() (first T) {
	if q.len() > 0 {
		first = q.items[q.first]
	}
	return first
}

func (q *queue[T]) pop() T {
	var none T
	x := q.items[q.first]
	q.items[q.first] = none
	if q.first++; q.first == len(q.items) || q.first > 1024 && 2*q.first > len(q.items) {
		n := copy(q.items, q.items[q.first:])
		clear(q.items[n:])
		q.items, q.first = q.items[:n], 0
	}
	return x
}

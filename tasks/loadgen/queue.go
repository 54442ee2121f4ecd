package loadgen

// queue holds flights in order, without giving back its memory.
type queue struct {
	items []*flight
	first int
}

func (q *queue) len() int { return len(q.items) - q.first }

func (q *queue) push(f *flight) { q.items = append(q.items, f) }

// head returns the first flight, nil where there is none.
func (q *queue) head() *flight {
	if q.len() == 0 {
		return nil
	}
	return q.items[q.first]
}

func (q *queue) pop() *flight {
	f := q.items[q.first]
	q.items[q.first] = nil
	if q.first++; q.first == len(q.items) || q.first > 1024 && 2*q.first > len(q.items) {
		n := copy(q.items, q.items[q.first:])
		clear(q.items[n:])
		q.items, q.first = q.items[:n], 0
	}
	return f
}

package engine

import (
	"container/heap"
	"math"
	"math/rand/v2"
)

// maxTogether bounds the tokens that are delivered at once when they are due at the same time.
const maxTogether = 100

// Timing is fixed timing, in nanoseconds.
type Timing struct {
	TTFT, TTFTStdev int64
	ITL, ITLStdev   int64
	MaxSeqs         int // requests beyond it wait; 0 = no limit
	PrefixCache     bool
	KVTokens        int // bounds what the prefix cache remembers; 0 = no bound
}

// Exact delivers token i of a request at its start + TTFT + i × ITL: deadlines are absolute, so that a late
// delivery delays no other. A request starts when it arrives, or when fewer than MaxSeqs run.
type Exact struct {
	Timing
	due     dueHeap
	queue   []*Seq
	running int
	cache   *cache
	load    Load
}

// NewExact returns an idle model.
func NewExact(t Timing) *Exact {
	e := &Exact{Timing: t}
	if t.PrefixCache {
		e.cache = newCache(t.KVTokens / BlockSize)
	}
	return e
}

// Add implements Model.
func (e *Exact) Add(at int64, s *Seq) {
	if e.MaxSeqs > 0 && e.running >= e.MaxSeqs {
		s.state = waiting
		e.queue = append(e.queue, s)
		return
	}
	e.start(at, s)
}

func (e *Exact) start(at int64, s *Seq) {
	e.running++
	s.state, s.Started = decoding, at
	e.lookUp(s)
	if e.TTFTStdev > 0 || e.ITLStdev > 0 {
		s.noise = newNoise(s.Draw)
	}
	s.due = at + s.noise.around(e.TTFT, e.TTFTStdev)
	s.batch = 1
	e.fill(s)
	heap.Push(&e.due, s)
}

// lookUp counts prefix hits; they do not change exact timing.
func (e *Exact) lookUp(s *Seq) {
	e.load.PrefillTokens += int64(s.Prompt)
	if e.cache == nil {
		return
	}
	var held holding
	s.Cached = e.cache.match(&held, s.Blocks, s.Prompt)
	if e.cache.take(&held, len(s.Blocks)-len(held.shared)) {
		e.cache.remember(&held, s.Blocks)
	}
	e.cache.release(&held)
	e.load.PrefixQueries += int64(s.Prompt)
	e.load.PrefixHits += int64(s.Cached)
	e.load.PrefillTokens -= int64(s.Cached)
}

// fill grows the next delivery from one token to the stride of s, or to all tokens that share its deadline.
func (e *Exact) fill(s *Seq) {
	left := s.Want - s.Done
	for s.batch < min(left, s.Stride) {
		s.due += s.noise.around(e.ITL, e.ITLStdev)
		s.batch++
	}
	if e.ITL == 0 && e.ITLStdev == 0 {
		s.batch = min(left, max(s.Stride, maxTogether-maxTogether%s.Stride))
	}
}

// Remove implements Model.
func (e *Exact) Remove(at int64, s *Seq) {
	switch s.state {
	case waiting:
		e.queue = without(e.queue, s)
	case decoding:
		heap.Remove(&e.due, s.index)
		e.stop(at)
	}
	s.state = outside
}

// stop gives the place of a sequence to the first in the queue.
func (e *Exact) stop(at int64) {
	e.running--
	if len(e.queue) > 0 {
		next := e.queue[0]
		e.queue = e.queue[1:]
		e.start(at, next)
	}
}

// Next implements Model.
func (e *Exact) Next() (int64, bool) {
	if len(e.due) == 0 {
		return 0, false
	}
	return e.due[0].due, true
}

// Advance implements Model.
func (e *Exact) Advance(now int64) {
	for len(e.due) > 0 && e.due[0].due <= now {
		e.deliver(e.due[0])
	}
}

func (e *Exact) deliver(s *Seq) {
	due := s.due
	s.Done += s.batch
	wanted := s.Sink.Tokens(s.batch, due)
	if s.state != decoding { // removed by its sink
		return
	}
	if wanted && s.Done < s.Want {
		s.due += s.noise.around(e.ITL, e.ITLStdev)
		s.batch = 1
		e.fill(s)
		heap.Fix(&e.due, s.index)
		return
	}
	heap.Remove(&e.due, s.index)
	s.state = outside
	e.stop(due)
}

// Load implements Model.
func (e *Exact) Load() Load {
	l := e.load
	l.Running, l.Waiting = e.running, len(e.queue)
	return l
}

// ResetCache implements Model.
func (e *Exact) ResetCache() {
	if e.cache != nil {
		e.cache.reset()
	}
}

// noise is the jitter of one request, the same for the same draw. Its zero value serves a zero stdev only.
type noise struct{ rng *rand.Rand }

func newNoise(draw uint64) noise { return noise{rand.New(rand.NewPCG(draw, 0x9e3779b97f4a7c15))} }

// around returns mean, or a normal draw around it that is never negative.
func (n noise) around(mean, stdev int64) int64 {
	if stdev == 0 {
		return mean
	}
	return max(0, mean+int64(math.Round(n.rng.NormFloat64()*float64(stdev))))
}

func without(list []*Seq, s *Seq) []*Seq {
	for i, other := range list {
		if other == s {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}

package engine

import (
	"container/heap"
	"math"
	"slices"
)

// Rates are the limits of a Batch.
type Rates struct {
	Timing          // TTFT is a fixed delay before a request may be scheduled, ITL the least time of a decode step
	Prefill float64 // prompt tokens per second, of one prompt after another
	Decode  float64 // output tokens per second, of all sequences together
}

// Batch models continuous batching. A request waits until a place among MaxSeqs and KV blocks for its prompt are
// free; its prompt is read beside the decoding of others; then every decode step gives it one token. A step of n
// sequences takes n / Decode, and never less than the floor. A sequence that finds no block for its next token evicts
// the youngest one, which starts over: its prompt and its output so far are read again.
type Batch struct {
	Rates
	floor     int64
	entering  dueHeap // arrived, but within the fixed delay
	waiting   []*Seq
	prefill   []*Seq // due = end of its reading
	decoding  []*Seq // oldest first
	step      []*Seq // of these, the ones in the step that runs
	stepEnd   int64  // 0 = no step runs
	readFree  int64  // when the next prompt can be read
	admitted  int64
	advancing bool
	cache     *cache
	jitter    noise
	load      Load
}

// NewBatch returns an idle model; seed chooses the jitter of its steps. Without an ITL the floor of a step is half of
// what it takes with MaxSeqs sequences, so that a small batch gains little from being smaller, as on a GPU.
func NewBatch(r Rates, seed uint64) *Batch {
	b := &Batch{Rates: r, cache: newCache(r.KVTokens / BlockSize), floor: r.ITL, jitter: newNoise(seed)}
	if r.ITL == 0 {
		b.floor = nanoseconds(float64(r.MaxSeqs) / r.Decode / 2)
	}
	b.load.KVBlocks = b.cache.capacity
	return b
}

func nanoseconds(s float64) int64 { return int64(math.Round(s * 1e9)) }

// Add implements Model.
func (b *Batch) Add(at int64, s *Seq) {
	s.state = entering
	s.due = at + newNoise(s.Draw).around(b.TTFT, b.TTFTStdev)
	heap.Push(&b.entering, s)
}

// Remove implements Model.
func (b *Batch) Remove(at int64, s *Seq) {
	switch s.state {
	case outside:
		return
	case entering:
		heap.Remove(&b.entering, s.index)
	case waiting:
		b.waiting = without(b.waiting, s)
	}
	b.leave(s)
	if !b.advancing { // else a sink has called, and Advance goes on to do it
		b.schedule(at)
	}
}

// leave frees what s holds in the engine.
func (b *Batch) leave(s *Seq) {
	b.prefill = without(b.prefill, s)
	b.decoding = without(b.decoding, s)
	b.cache.release(&s.held)
	s.state = outside
}

// Next implements Model.
func (b *Batch) Next() (int64, bool) {
	next := int64(math.MaxInt64)
	if len(b.entering) > 0 {
		next = b.entering[0].due
	}
	if len(b.prefill) > 0 {
		next = min(next, b.prefill[0].due)
	}
	if b.stepEnd != 0 {
		next = min(next, b.stepEnd)
	}
	return next, next != math.MaxInt64
}

// Advance implements Model.
func (b *Batch) Advance(now int64) {
	b.advancing = true
	defer func() { b.advancing = false }()
	for {
		at, ok := b.Next()
		if !ok || at > now {
			return
		}
		for len(b.entering) > 0 && b.entering[0].due <= at {
			s := heap.Pop(&b.entering).(*Seq)
			s.state = waiting
			b.waiting = append(b.waiting, s)
		}
		b.endPrefill(at)
		if b.stepEnd != 0 && b.stepEnd <= at {
			b.endStep(at)
		}
		b.schedule(at)
	}
}

func (b *Batch) endPrefill(at int64) {
	for len(b.prefill) > 0 && b.prefill[0].due <= at {
		s := b.prefill[0]
		b.prefill = b.prefill[1:]
		b.cache.remember(&s.held, s.Blocks)
		s.state = decoding
		b.decoding = append(b.decoding, s)
	}
}

func (b *Batch) endStep(at int64) {
	b.stepEnd = 0
	for _, s := range b.step {
		if s.state != decoding { // gone or preempted meanwhile
			continue
		}
		s.Done++
		if wanted := s.Sink.Tokens(1, at); !wanted || s.Done >= s.Want {
			b.leave(s)
		}
	}
}

// schedule admits what fits and starts a step where none runs.
func (b *Batch) schedule(at int64) {
	for len(b.waiting) > 0 && (b.MaxSeqs == 0 || len(b.prefill)+len(b.decoding) < b.MaxSeqs) && b.admit(at, b.waiting[0]) {
		b.waiting = b.waiting[1:]
	}
	if b.stepEnd == 0 && len(b.decoding) > 0 {
		b.startStep(at)
	}
}

// admit gives s its blocks and queues its prompt for reading, or returns false.
func (b *Batch) admit(at int64, s *Seq) bool {
	tokens := s.Prompt + s.Done
	hit := b.cache.match(&s.held, s.Blocks, tokens)
	if !b.cache.take(&s.held, blocksOf(tokens)-s.held.blocks()) {
		b.cache.release(&s.held)
		return false
	}
	if s.Started == 0 {
		s.Started, s.Cached = at, hit
		if b.PrefixCache {
			b.load.PrefixQueries += int64(s.Prompt)
			b.load.PrefixHits += int64(hit)
		}
	}
	b.load.PrefillTokens += int64(tokens - hit)
	b.readFree = max(at, b.readFree) + nanoseconds(float64(tokens-hit)/b.Prefill)
	b.admitted++
	s.due, s.admitted, s.state = b.readFree, b.admitted, prefilling
	b.prefill = append(b.prefill, s)
	return true
}

func (b *Batch) startStep(at int64) {
	for _, s := range slices.Clone(b.decoding) {
		if s.state == decoding {
			b.makeRoom(s)
		}
	}
	b.step = append(b.step[:0], b.decoding...)
	if len(b.step) == 0 {
		return
	}
	took := max(b.floor, nanoseconds(float64(len(b.step))/b.Decode))
	b.stepEnd = at + max(1, b.jitter.around(took, b.ITLStdev))
}

// makeRoom gives s a block for its next token, at the cost of the youngest sequences, possibly of s itself.
func (b *Batch) makeRoom(s *Seq) {
	for s.state == decoding && blocksOf(s.Prompt+s.Done+1) > s.held.blocks() && !b.cache.take(&s.held, 1) {
		b.preempt(b.youngest())
	}
}

func (b *Batch) youngest() *Seq {
	var last *Seq
	for _, list := range [][]*Seq{b.decoding, b.prefill} {
		for _, s := range list {
			if last == nil || s.admitted > last.admitted {
				last = s
			}
		}
	}
	return last
}

func (b *Batch) preempt(s *Seq) {
	b.leave(s)
	s.state = waiting
	b.waiting = append([]*Seq{s}, b.waiting...)
	b.load.Preemptions++
}

// Load implements Model.
func (b *Batch) Load() Load {
	l := b.load
	l.Running = len(b.prefill) + len(b.decoding)
	l.Waiting = len(b.waiting) + len(b.entering)
	l.KVUsed = b.cache.used()
	return l
}

// ResetCache implements Model.
func (b *Batch) ResetCache() { b.cache.reset() }

// Both timings are models.
var (
	_ Model = (*Exact)(nil)
	_ Model = (*Batch)(nil)
)

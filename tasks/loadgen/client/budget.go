package client

import (
	"errors"

	"bflow.dev/bflow/tasks/loadgen/record"
)

// errMemory is what an answer meets that grows while the answers under way hold as much as they may.
var errMemory = errors.New(
	"the answers under way hold more than 96 MiB together: send fewer requests at once, or ask for shorter answers")

const (
	// MaxHeld bounds the bytes that answers hold together. A step of 512 MiB has room for it, for its copies while
	// buffers grow and for what the garbage collector has not collected.
	MaxHeld = 96 << 20
	// The last quarter of it is left to answers that hold less than smallAnswer, so that a huge one fails by itself and
	// does not take those beside it along.
	reserved    = MaxHeld / 4
	smallAnswer = 64 << 10
	// freeAnswer and freeToken are bytes that are held against no answer: those of any, and those of each token that its
	// request asked for (a gap, a count and the text, in buffers that have doubled).
	freeAnswer = 16 << 10
	freeToken  = 32
	// maxSpare bounds the buffers that wait for the next body.
	maxSpare = 8 << 20
)

// Budget bounds the memory that answers hold, all exchanges of a load together: a server must not take the memory of
// its client, however it answers. It lives on the thread of a loop.
type Budget struct {
	used   int
	spare  [][]byte // empty buffers of bodies
	spared int      // bytes of these
}

// NewBudget returns a budget of which nothing is used.
func NewBudget() *Budget { return &Budget{} }

// Keep counts n bytes of answers that outlive their exchanges, or no longer does where n is negative. They are kept
// whatever is used: what comes later is refused instead.
func (b *Budget) Keep(n int) { b.used += n }

// settle makes want of what held was; an error where it is more and too much.
func (b *Budget) settle(held *int, want int) error {
	most := MaxHeld
	if want >= smallAnswer {
		most -= reserved
	}
	if more := want - *held; more > 0 && b.used+more > most {
		return errMemory
	}
	b.used += want - *held
	*held = want
	return nil
}

// buffer returns an empty buffer for a body: the one that was given back last.
func (b *Budget) buffer() []byte {
	last := len(b.spare) - 1
	if last < 0 {
		return nil
	}
	buf := b.spare[last]
	b.spare[last], b.spare = nil, b.spare[:last]
	b.spared -= cap(buf)
	return buf
}

// giveBack takes the buffer of a body that nobody needs any more.
func (b *Budget) giveBack(buf []byte) {
	if n := cap(buf); n > 0 && b.spared+n <= maxSpare {
		b.spare, b.spared = append(b.spare, buf[:0]), b.spared+n
	}
}

// Excess returns how many of n bytes that an answer holds are held against it.
func (x *Exchange) Excess(n int) int { return max(0, n-x.free) }

// hold counts what x holds, framing of its connection included. It is called for every read.
func (x *Exchange) hold(framing int) error {
	n := framing + x.scan.Held() + cap(x.body) + x.Outcome.Held()
	if n <= x.free && x.held == 0 { // nearly always
		return nil
	}
	return x.Budget.settle(&x.held, x.Excess(n))
}

// freeFor returns how many bytes are held against no answer to the request of o.
func freeFor(o *record.Outcome) int { return freeAnswer + freeToken*int(max(0, o.OutAsked)) }

// unload gives back the buffers of an answer that has ended, which its outcome does not need.
func (x *Exchange) unload() {
	x.Budget.giveBack(x.body)
	x.body = nil
	x.scan.Trim()
	x.delta.clear() // what it names lies in buffers
	_ = x.hold(0)   // less than before is never refused
}

// Release gives back what the outcome holds beyond what the next one is likely to need, once nobody needs it.
func (x *Exchange) Release() {
	if x.held > 0 {
		x.Outcome.Drop()
		_ = x.hold(0)
	}
}

package loadgen

import (
	"time"

	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/client"
	"bflow.dev/bflow/tasks/loadgen/loop"
	"bflow.dev/bflow/tasks/loadgen/prompt"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/loadgen/trace"
)

// driver puts the load of one stage: it decides who sends when, and hands outcomes to the spill. All of it runs on the
// thread of the loop.
type driver struct {
	plan     runplan.Stage
	kind     shape.Shape
	rate     float64
	api      runplan.API
	limits   limits
	think    int64
	loop     *loop.Loop
	line     client.Line
	speaks   *client.API
	source   *prompt.Source
	content  prompt.Stage
	trace    *trace.Trace // nil = none
	spill    *record.Spill
	texts    *record.Texts // nil = none are kept
	budget   *client.Budget
	live     *live
	idPrefix string
	anchor   time.Time
	seed     uint64
	byReader bool // stamps of arrival are those of the reader
	shard    int  // of shards
	shards   int
	senders  int // of the shards: the others have nothing to send

	shape  shaper
	start  int64 // stamp
	timers timers
	state  ending
	sweep  int64 // when timeouts are looked for next

	issued    int64 // requests that may be sent
	sessions  int64 // conversations that a closed loop has given out
	early     int   // requests in flight that were sent before the end
	lastSend  int64
	exhausted bool // the plan has no more conversations
	tickets   uint64
	active    []*flight
	free      []*flight
}

// flight is a request from its making to its end.
type flight struct {
	client.Exchange
	outcome  record.Outcome
	session  *prompt.Session
	prompt   prompt.Prompt
	heard    int    // bytes of the budget that earlier answers of the conversation hold
	buf      []byte // of the message; the body begins behind room for the head
	intended int64
	slot     *slot
	waited   int64 // in the queue for a place in flight
	early    bool
	shown    bool   // its texts are kept
	place    int    // in driver.active
	attempts int    // that have failed
	late     int64  // by how much we were late with the first
	ticket   uint64 // of the timer that puts it again, 0 = none
}

func (d *driver) now() int64 { return d.loop.Now() }

// claim says whether one more request may be sent.
func (d *driver) claim() bool {
	if d.isStopped() {
		return false
	}
	if d.issued++; d.plan.Requests > 0 && d.issued > d.bound() {
		d.stop(endedRequests)
		return false
	}
	return true
}

// bound is how many requests this shard sends at most, where the plan bounds them.
func (d *driver) bound() int64 {
	if d.shard < d.senders {
		return int64(part(d.plan.Requests, d.shard, d.senders))
	}
	return 0
}

// open returns the first turn of a conversation, made and not yet sent; nil when the plan has none of that index.
func (d *driver) open(index int64) *flight {
	s, ok := d.source.Session(d.content, index)
	if !ok {
		d.exhausted = true
		return nil
	}
	return d.turn(s, nil)
}

// openNext returns the first turn of the next conversation of a closed loop.
func (d *driver) openNext() *flight {
	f := d.open(d.sessions*int64(d.senders) + int64(d.shard))
	d.sessions++
	return f
}

// nextTurn makes the turn after f.
func (d *driver) nextTurn(f *flight) *flight {
	n := d.turn(f.session, f.outcome.Text)
	f.session = nil
	more := 2 * f.Excess(len(f.outcome.Text)) // in the conversation and in the message
	d.budget.Keep(more)
	if n.heard, f.heard = f.heard+more, 0; n.heard > 0 {
		f.buf, f.Message = nil, nil // it has grown with the conversation
	}
	return n
}

// turn makes the next turn of a conversation, whose last answer is given.
func (d *driver) turn(s *prompt.Session, answer []byte) *flight {
	f := d.flight()
	f.session = s
	from := d.speaks.HeadRoom(d.idPrefix)
	if cap(f.buf) < from+512 {
		f.buf = make([]byte, from, from+4096)
	}
	f.prompt = s.Next(f.buf[from:from], answer)
	body := f.prompt.Body
	if len(body) > cap(f.buf)-from || &body[0] != &f.buf[:from+1][from] { // it did not fit
		f.buf = make([]byte, from, from+len(body)+len(body)/4)
		f.buf = append(f.buf, body...)
	}
	f.buf = f.buf[:from+len(body)]
	f.prompt.Body = nil
	f.outcome.Reset()
	o := &f.outcome
	o.Index, o.Session, o.Turn = s.Index, s.Index, int64(f.prompt.Turn)
	o.InAsked, o.OutAsked, o.Adapter = f.prompt.InAsked, f.prompt.OutAsked, int64(f.prompt.Adapter)
	o.PrefixBucket, o.PrefixIndex, o.PromptHash = f.prompt.Bucket, f.prompt.Prefix, f.prompt.Hash
	f.Message, f.BodyFrom = d.speaks.Message(f.buf, from, d.idPrefix, o)
	return f
}

// flight returns an empty one.
func (d *driver) flight() *flight {
	if n := len(d.free); n > 0 {
		f := d.free[n-1]
		d.free = d.free[:n-1]
		return f
	}
	f := &flight{}
	f.API, f.Outcome = d.speaks, &f.outcome
	f.IDPrefix, f.Budget = d.idPrefix, d.budget
	f.Over, f.ByReader = func() { d.over(f) }, d.byReader
	return f
}

// recycle takes back a flight that nobody needs any more.
func (d *driver) recycle(f *flight) {
	if f.heard > 0 { // the buffers of the conversation have grown with it
		d.budget.Keep(-f.heard)
		f.heard, f.session = 0, nil
		f.buf, f.Message = nil, nil
	}
	if f.session != nil {
		d.source.Recycle(f.session)
	}
	f.Release()
	f.session, f.slot = nil, nil
	f.intended, f.waited, f.early = 0, 0, false
	f.attempts, f.late, f.ticket = 0, 0, 0
	d.free = append(d.free, f)
}

// send puts a request whose place in flight is taken.
func (d *driver) send(f *flight) {
	f.early = !d.isStopped()
	if f.early {
		d.early++
	}
	f.outcome.Intended, f.outcome.QueueWait = f.intended, f.waited
	if f.slot != nil {
		f.outcome.Slot = f.slot.number
	}
	f.shown = d.texts.Take()
	f.KeepText = f.shown || !f.prompt.Last
	f.place = len(d.active)
	d.active = append(d.active, f)
	d.live.countSent()
	d.planCancel(f)
	d.line.Put(&f.Exchange)
}

// over is called when a request has ended.
func (d *driver) over(f *flight) {
	if d.again(f) {
		return
	}
	last := len(d.active) - 1
	d.active[f.place] = d.active[last]
	d.active[f.place].place = f.place
	d.active[last] = nil
	d.active = d.active[:last]
	if f.early {
		d.early--
	}
	o := &f.outcome
	d.lastSend = max(d.lastSend, o.Send)
	d.live.countEnded(o)
	d.spill.Add(o)
	if f.shown {
		d.texts.Add(o, f.Message[f.BodyFrom:])
	}
	d.shape.complete(f)
	d.recycle(f)
}

// giveUp records a request that is never sent.
func (d *driver) giveUp(f *flight, status string) {
	f.outcome.Intended, f.outcome.QueueWait = f.intended, f.waited
	f.outcome.Status = status
	d.live.countDropped(status)
	d.spill.Add(&f.outcome)
	d.recycle(f)
}

// after returns when a slot or conversation goes on after a request.
func (d *driver) after(f *flight) int64 {
	if f.outcome.End >= 0 {
		return f.outcome.End
	}
	return d.now()
}

// Package client sends requests to a model server, reads the responses as they stream, and timestamps both. All of it
// runs on the thread of a loop. It must not decide when a request is sent or what its numbers mean.
package client

import (
	"errors"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/tasks/loadgen/loop"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/loadgen/sse"
	"bflow.dev/bflow/tasks/loadgen/wire"
	"bflow.dev/bflow/tasks/outbound"
)

// Causes with which a request is given up before its end.
var (
	ErrCut      = errors.New("cut off by the end of the stage")
	ErrCanceled = errors.New("cancelled by its client")
	ErrStall    = errors.New("the server went silent")
	ErrDeadline = errors.New("the time of the request was up")
)

// Line carries requests to a server.
type Line interface {
	// Put starts x: its Over is called once, perhaps before Put returns.
	Put(x *Exchange)
	// Warm opens connections until n are open or an attempt fails, and calls done with the first error.
	Warm(n int, done func(error))
	// Stats counts connections.
	Stats() Stats
	// Close closes what is idle.
	Close()
}

// Stats counts connections: Opened ever; Churn of them replaced one that the server had closed although it was in use,
// rather than that more were needed at once than ever before, or that one had been idle for too long.
type Stats struct{ Open, Opened, Churn int }

// Exchange is one request and what becomes of it. It can be used again once it is over.
type Exchange struct {
	API      *API
	Message  []byte // head and body
	BodyFrom int    // where in Message the body begins
	IDPrefix string // of the stage, to which the outcome adds session and turn
	KeepText bool   // the next turn needs the answer
	ByReader bool   // stamps of arrival are those of the reader, where the kernel has some too
	Outcome  *record.Outcome
	Budget   *Budget // of the answers of the load
	Over     func()  // called once, when the outcome is complete but for what the caller knows

	line     carrier
	scan     sse.Scanner
	onEvent  func(data []byte) error
	delta    delta // of the event that is being read
	answer   answer
	at       int64 // stamp of what is being read
	read     loop.Stamps
	inRead   int // token events that this read has brought
	lastByte int64
	body     []byte // of an answer that does not stream, or of an error
	free     int    // bytes that the answer may hold beside the budget
	held     int    // bytes of the budget that it holds
	running  bool
}

// carrier is the connection that an exchange is on.
type carrier interface {
	// drop ends the exchange at once; end is called by whoever drops.
	drop()
}

// answer is what is known of the answer beside its stamps.
type answer struct {
	status     int
	location   string // of a redirect
	done       bool   // its terminator was read
	tokens     bool   // it brought tokens, also without a stream
	hasUsage   bool
	summed     bool  // usage is a sum of what events said
	continuous bool  // usage came with the first token event, so it comes with each
	counted    int64 // completion tokens of the last usage
	failed     error
}

// start makes x ready for one more attempt.
func (x *Exchange) start(l carrier) {
	if x.onEvent == nil {
		x.onEvent = x.takeStreamed
	}
	x.line, x.running = l, true
	x.answer, x.body = answer{}, x.body[:0]
	x.free = freeFor(x.Outcome)
	x.read, x.inRead = loop.Stamps{}, 0
	x.scan.Reset()
	x.Outcome.TokensAssumed = x.API.Stream
}

// Running says whether the exchange is neither unborn nor over.
func (x *Exchange) Running() bool { return x.running }

// Silent returns for how long nothing has come, as of now; 0 before the request is sent.
func (x *Exchange) Silent(now int64) int64 {
	if x.Outcome.Send < 0 {
		return 0
	}
	return now - max(x.lastByte, x.Outcome.Send, x.Outcome.Sent)
}

// GiveUp ends the exchange before its time. An answer that lacks only the end of its framing is whole.
func (x *Exchange) GiveUp(cause error, now int64) {
	if !x.running {
		return
	}
	x.line.drop()
	if x.answer.done {
		cause = x.checkComplete()
	}
	x.end(cause, now)
}

// stampSend stamps that the first byte is about to be given to the kernel.
func (x *Exchange) stampSend(now int64) {
	o := x.Outcome
	o.BytesOut, o.Send, x.lastByte = int64(len(x.Message)), now, now
}

// stampLateSend stamps that the first byte was given to the kernel later than stampSend had it.
func (x *Exchange) stampLateSend(at int64) {
	if at > x.Outcome.Send {
		x.Outcome.Send, x.lastByte = at, at
	}
}

// stampArrival stamps bytes that have come.
func (x *Exchange) stampArrival(at loop.Stamps) {
	o := x.Outcome
	x.at = at.User
	if at.Kernel <= 0 || at.Kernel != x.read.Kernel { // records that one read brought have one stamp
		x.inRead = 0
	}
	x.read = at
	if at.Kernel > 0 && at.Kernel >= o.Send {
		o.LagMax = max(o.LagMax, at.User-at.Kernel)
		if !x.ByReader {
			x.at = max(at.Kernel, x.lastByte) // the clocks are read one after the other: time may seem to go back a little
			o.Kernel = true
		}
	}
	if o.FirstByte < 0 {
		o.FirstByte = x.at
	}
	x.lastByte = x.at
}

// onTime is how late a read may be, in ns, and still have found nothing but what its stamp is of. Later ones may bring
// several events together of which the first came long before the last, whose stamp is the only one.
const onTime = 50e3

// late returns by how much what is being read came before its stamp: 0 where the stamp is the kernel's.
func (x *Exchange) late() int64 {
	if x.read.Kernel <= 0 {
		return 0
	}
	return max(0, x.at-x.read.Kernel)
}

// bunch counts a token event that a late read has brought behind another one.
func (x *Exchange) bunch() {
	o := x.Outcome
	if x.inRead++; x.inRead == 1 || x.read.Kernel <= 0 || x.read.User-x.read.Kernel <= onTime {
		return
	}
	o.Bunched++
	o.Within = max(o.Within, x.within())
	if int64(o.Events()) == int64(x.inRead) { // of the read that brought the first
		o.Behind++
	}
}

// within returns how long before its stamp the first of what is being read came at most: after the loop had last seen
// that nothing was there. What had its stamp by then was held up below the socket, where the loop sees nothing.
func (x *Exchange) within() int64 {
	after := x.read.After
	if after >= x.read.Kernel {
		after = 0
	}
	return x.read.Kernel - max(after, x.Outcome.Send)
}

// takeHead takes the head of the answer.
func (x *Exchange) takeHead(h *wire.Head) error {
	o := x.Outcome
	o.HTTPStatus, o.Pod = int64(h.Status), h.Pod
	x.answer.status, x.answer.location = h.Status, h.Location
	if h.Encoding != "" && h.Encoding != "identity" && h.Status == 200 {
		return &encodingError{h.Encoding}
	}
	return nil
}

// maxErrorBody bounds what is kept of an error page. maxBody bounds an answer that does not stream, and maxText the
// text that is kept of any: each is read, or copied, at one go, while nothing is sent.
const (
	maxErrorBody = 64 << 10
	maxBody      = 32 << 20
	maxText      = 4 << 20
)

// Answers that are refused because they would take too much memory, or too long to read.
var (
	errLongBody = errors.New("the answer is longer than 32 MiB")
	errLongText = errors.New("the text of the answer, which the next turn needs, is longer than 4 MiB")
)

// takePiece takes a piece of the body.
func (x *Exchange) takePiece(p []byte) error {
	failed := x.answer.status != 200
	if x.API.Stream && !failed {
		return x.scan.Feed(p, x.onEvent)
	}
	if x.body == nil {
		x.body = x.Budget.buffer()
	}
	switch {
	case failed:
		p = p[:min(len(p), maxErrorBody-len(x.body))]
	case len(x.body)+len(p) > maxBody:
		return errLongBody
	}
	x.body = append(x.body, p...)
	return nil
}

// finishBody takes the orderly end of the body and returns what the answer came to.
func (x *Exchange) finishBody() error {
	o := x.Outcome
	switch {
	case x.answer.status != 200:
		o.End = x.at
		return x.refusal()
	case x.API.Stream:
		if err := x.scan.Close(x.onEvent); err != nil {
			return err
		}
	default:
		o.End, o.LateEnd = x.at, x.late()
		if err := x.takeEvent(trimmed(x.body), false); err != nil {
			return err
		}
		x.answer.done = true
	}
	return x.checkComplete()
}

// refusal is what an answer with a status that is not 200 says. A redirect is not followed: its load would go
// elsewhere.
func (x *Exchange) refusal() error {
	e := &statusError{code: x.answer.status, text: errorText(x.body)}
	if x.answer.location != "" {
		e.text = outbound.Redirect(x.API.address(), x.answer.location).Error()
	}
	return e
}

// checkComplete says whether a stream that is over was complete.
func (x *Exchange) checkComplete() error {
	x.settle()
	if x.answer.failed != nil {
		return x.answer.failed
	}
	if !x.answer.done && (!x.API.endless || x.delta.more) {
		return errNoTerminator
	}
	if x.Outcome.End < 0 {
		x.Outcome.End, x.Outcome.LateEnd = x.at, x.late()
	}
	return nil
}

// end is told how the exchange ended; now is the stamp where nothing better is known.
func (x *Exchange) end(err error, now int64) {
	if !x.running {
		return
	}
	x.running, x.line = false, nil
	x.judge(err, now)
	x.unload()
	x.Over()
}

// judge gives the outcome its status from how the exchange ended.
func (x *Exchange) judge(err error, now int64) {
	o := x.Outcome
	x.settle()
	switch {
	case x.answer.summed:
		o.TokenSource = SourceUsageSum
	case x.answer.hasUsage:
		o.TokenSource = SourceUsage
	}
	switch {
	case err == nil && o.Out <= 0 && o.Events() == 0 && !x.answer.tokens:
		o.Status = report.StatusEmpty
	case err == nil:
		o.Status = report.StatusOK
	case errors.Is(err, ErrCut):
		o.Status, o.End = report.StatusCut, record.Absent
	case errors.Is(err, ErrCanceled):
		o.Status, o.Class, o.End = report.StatusCancelled, report.ErrCancelled, record.Absent
	default:
		if o.End < 0 {
			o.End = now
		}
		// With TLS 1.3 a server refuses the certificate of a client behind the handshake, in place of an answer.
		if why := x.API.server.Explain(err); why != nil {
			err = why
		}
		o.Status, o.Class = classify(err)
		o.Error = x.API.Clean(x.describe(err))
	}
}

package sim

import (
	"bflow.dev/bflow/sim/engine"
	"bflow.dev/bflow/sim/wire"
	"bflow.dev/bflow/tasks/runplan"
)

// ending is how an answer ends.
type ending uint8

const (
	endWell      ending = iota
	endTruncated        // cleanly, but early
	endError            // with an error object in the stream
	endReset
	endStall // not at all
)

// stream is one answer in the making. Once submitted it belongs to the pacer's thread.
type stream struct {
	srv *Server
	c   *conn
	seq engine.Seq
	ans wire.Answer
	rec *Record

	whole     bool // one JSON body instead of events
	usage     bool
	closing   bool   // the connection ends with the answer
	finish    string // finish reason
	perEvent  int
	reasoning int // this many tokens are reasoning
	end       ending
	cut       int // end strikes after this many tokens
	noDone    bool
	split     bool
	cutUTF8   bool

	inline   bool    // sent by the connection's goroutine: nothing is due later
	scratch  *[]byte // the bytes of one send, kept by whoever sends
	made     int     // tokens
	sent     int     // of these
	headSent bool
	over     bool
	held     []byte // bytes of an event that go with the next send

	firstToken, lastToken int64 // made at, 0 = not yet
}

// Tokens implements engine.Sink.
func (s *stream) Tokens(n int, due int64) bool {
	now := s.srv.clock.Now()
	if s.end != endWell && s.made+n >= s.cut {
		n = s.cut - s.made
		s.make(n, now)
		s.deliver(due, now)
		s.strike()
		return false
	}
	s.make(n, now)
	done := s.made == s.seq.Want
	if !done && (s.whole || s.made-s.sent < s.seq.Stride) {
		return true
	}
	return s.deliver(due, now) && !done
}

// make counts n more tokens as made now.
func (s *stream) make(n int, now int64) {
	s.made += n
	s.srv.stats.tokens(s, n, now)
}

// deliver sends all tokens that were not sent yet, and with the last of them the end of the answer.
func (s *stream) deliver(due, now int64) bool {
	if !s.inline {
		s.late(now - s.srv.pacer.Real(due))
	}
	last := s.end == endWell && s.made == s.seq.Want
	s.ans.Cached = s.seq.Cached
	b := (*s.scratch)[:0]
	switch {
	case !s.whole:
		b = s.appendEvents(b, now, last)
		*s.scratch = b
	case last:
		b = s.ans.Whole(s.seq.Want, s.reasoning, s.finish, s.usage, now)
	}
	s.sent = s.made
	if !s.send(b, now, last) {
		s.close(StatusCancelled, now)
		return false
	}
	if last {
		s.complete()
	}
	return true
}

func (s *stream) complete() {
	status := StatusComplete
	if s.noDone && !s.whole {
		status = StatusTruncated
	}
	s.close(status, s.srv.clock.Now())
}

// appendEvents appends what comes before, the events of the pending tokens, and, with the last, what comes after.
func (s *stream) appendEvents(b []byte, now int64, last bool) []byte {
	b = s.appendStart(b, now)
	for i := s.sent; i < s.made; i += s.perEvent {
		t := wire.Tokens{First: i, N: min(s.perEvent, s.made-i), Now: now}
		if t.First < s.reasoning {
			t.Class = wire.Reasoning
		}
		if last && i+t.N == s.made {
			t.Finish = s.finish
		}
		b = s.ans.AppendTokens(b, t)
		s.rec.Events = append(s.rec.Events, now-s.rec.Arrival)
		s.rec.EventTokens = append(s.rec.EventTokens, t.N)
	}
	if last {
		b = s.appendFinish(b, now)
	}
	return b
}

func (s *stream) appendStart(b []byte, now int64) []byte {
	if s.headSent {
		return b
	}
	s.headSent = true
	b = s.ans.AppendHead(b)
	if s.ans.Chat {
		b = s.ans.AppendRole(b, now)
	}
	return b
}

func (s *stream) appendFinish(b []byte, now int64) []byte {
	if s.usage {
		b = s.ans.AppendUsageEvent(b, s.seq.Want, s.reasoning, now)
	}
	if !s.noDone {
		b = s.ans.AppendData(b, "[DONE]")
	}
	return s.ans.AppendEnd(b)
}

// strike ends the answer by its fault.
func (s *stream) strike() {
	now := s.srv.clock.Now()
	switch {
	case s.over || s.end == endStall:
	case s.end == endReset:
		s.c.abort = true
		s.closing = true
		s.close(StatusReset, now)
	case s.end == endError && s.whole:
		s.rec.HTTPStatus = 500
		s.send(s.ans.JSON(500, wire.ErrorBody(500, "", errorText)), now, true)
		s.close(StatusFailed, now)
	case s.end == endError:
		b := s.ans.AppendData(nil, string(wire.ErrorBody(500, "", errorText)))
		s.send(s.ans.AppendEnd(s.ans.AppendData(b, "[DONE]")), now, true)
		s.close(StatusFailed, now)
	case s.whole: // truncated: the length in the header promises more
		b := s.ans.Whole(s.seq.Want, s.reasoning, s.finish, s.usage, now)
		s.send(b[:len(b)-s.seq.Want], now, true)
		s.closing = true
		s.close(StatusTruncated, now)
	default:
		s.send(s.ans.AppendEnd(nil), now, true)
		s.close(StatusTruncated, now)
	}
}

// errorText is the message of injected errors.
const errorText = "injected by the simulated engine"

// send gives b to the kernel in the way the faults say. It returns false when the client has left.
func (s *stream) send(b []byte, now int64, last bool) bool {
	if s.over || len(b) == 0 {
		return !s.over
	}
	if s.rec.FirstByte == 0 {
		s.rec.FirstByte = now
	}
	if s.rec.HTTPStatus == 0 {
		s.rec.HTTPStatus = 200
	}
	if s.cutUTF8 {
		b = s.hold(b)
	}
	blocked, err := s.write(b)
	if err == nil && last && len(s.held) > 0 {
		blocked, err = s.write(s.held)
	}
	if blocked {
		s.rec.BlockedWrites++
	}
	return err == nil
}

func (s *stream) write(b []byte) (blocked bool, err error) {
	if !s.split {
		return s.c.out.send(b)
	}
	for i := range b {
		if blocked, err = s.c.out.send(b[i : i+1]); err != nil {
			break
		}
	}
	return blocked, err
}

// hold returns what was held before and b up to the middle of its last character of several bytes; the rest is held.
func (s *stream) hold(b []byte) []byte {
	all := append(s.held, b...)
	cut := len(all) - 1
	for cut > 0 && all[cut] < 0x80 {
		cut--
	}
	if cut == 0 {
		cut = len(all)
	}
	s.held = append([]byte(nil), all[cut:]...)
	return all[:cut]
}

// cancel ends a stream whose client has left, or is being left. It runs on the pacer's thread.
func (s *stream) cancel(now int64) {
	if s.over {
		return
	}
	s.srv.model.Remove(now, &s.seq)
	status := StatusCancelled
	select {
	case <-s.srv.closing:
		status = StatusReset
	default:
	}
	s.close(status, s.srv.clock.Now())
}

// close completes the record and gives the connection back to its goroutine.
func (s *stream) close(status string, now int64) {
	if s.over {
		return
	}
	s.over = true
	s.rec.Status, s.rec.End = status, now
	s.rec.Started = s.started()
	s.rec.CachedTokens, s.rec.OutputTokens = s.seq.Cached, s.sent
	if status == StatusComplete {
		s.rec.FinishReason = s.finish
	}
	s.srv.stats.finished(s)
	s.srv.truth.add(s.rec)
	if s.closing {
		s.c.ending.Store(true)
		_ = s.c.nc.SetReadDeadline(past())
	}
	s.c.done <- struct{}{}
}

// late notes how much later than due something was sent, ns.
func (s *stream) late(ns int64) {
	s.srv.stats.sent(ns)
	s.rec.LatenessMax = max(s.rec.LatenessMax, ns)
}

// shape applies the faults of a request.
func (s *stream) shape(h hits) {
	if h == nil {
		return
	}
	s.rec.Faults = h.kinds()
	if h.has(runplan.FaultShortOutput) {
		s.seq.Want, s.finish = max(1, s.seq.Want/2), "stop"
	}
	s.shapeEnd(h)
	s.shapeEvents(h)
	s.usage = s.usage && !h.has(runplan.FaultUsageMissing)
	s.noDone = h.has(runplan.FaultNoDone)
	if h.has(runplan.FaultReasoning) && s.ans.Chat {
		s.reasoning = s.seq.Want / 2
	}
}

func (s *stream) shapeEnd(h hits) {
	s.cut = max(1, s.seq.Want/2)
	for _, e := range []struct {
		kind string
		end  ending
	}{
		{runplan.FaultErrorEvent, endError}, {runplan.FaultReset, endReset},
		{runplan.FaultTruncated, endTruncated}, {runplan.FaultStall, endStall},
	} {
		if h.has(e.kind) {
			s.end = e.end
			return
		}
	}
}

func (s *stream) shapeEvents(h hits) {
	if h.has(runplan.FaultTokensPerEvent) {
		s.perEvent = h.number(runplan.FaultTokensPerEvent, 4)
		s.seq.Stride = s.perEvent
	}
	if h.has(runplan.FaultCoalesce) {
		s.seq.Stride = s.seq.Want
	}
	s.split = h.has(runplan.FaultSplit)
	s.cutUTF8 = h.has(runplan.FaultCutUTF8)
	s.ans.Unicode = s.cutUTF8
	s.ans.CRLF = h.has(runplan.FaultCRLF)
	s.ans.Comments = h.has(runplan.FaultComments)
	s.ans.MultiLine = h.has(runplan.FaultMultiLine)
}

// started returns when the request left the queue, 0 where it never did.
func (s *stream) started() int64 {
	if s.inline || s.seq.Started == 0 {
		return s.seq.Started
	}
	return s.srv.pacer.Real(s.seq.Started)
}

package sim

import (
	"bflow.dev/bflow/sim/engine"
	"bflow.dev/bflow/sim/wire"
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
	s.srv.stats.countTokens(s, n, now)
}

// deliver sends all tokens that were not sent yet, and with the last of them the end of the answer.
func (s *stream) deliver(due, now int64) bool {
	late := int64(0)
	if !s.inline {
		late = now - s.srv.pacer.Real(due)
	}
	s.srv.stats.countSend(late)
	s.rec.LatenessMax = max(s.rec.LatenessMax, late)
	last := s.end == endWell && s.made == s.seq.Want
	s.ans.Cached = s.seq.Cached
	b := (*s.scratch)[:0]
	switch {
	case !s.whole:
		b = s.appendEvents(b, now, last)
		*s.scratch = b
	case last:
		b = s.ans.Whole(s.endEvent(now))
	}
	s.sent = s.made
	if !s.send(b, now, last) {
		s.close(s.lostStatus(), now)
		return false
	}
	if last {
		s.complete()
	}
	return true
}

func (s *stream) complete() {
	status := StatusComplete
	switch {
	case s.noDone && !s.whole:
		status = StatusTruncated
	case s.ans.Gzip:
		status = StatusEncoded
	}
	s.close(status, s.srv.clock.Now())
}

// appendEvents appends what comes before, the events of the pending tokens, and, with the last, what comes after.
func (s *stream) appendEvents(b []byte, now int64, last bool) []byte {
	b = s.appendStart(b, now)
	for i := s.sent; i < s.made; i += s.perEvent {
		t := wire.Tokens{First: i, N: min(s.perEvent, s.made-i), Now: now, Total: s.seq.Want, Usage: s.usage}
		if t.First < s.reasoning {
			t.Class = wire.Reasoning
		}
		if last && i+t.N == s.made && !s.endless() {
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
	return s.ans.AppendStart(b, now)
}

func (s *stream) appendFinish(b []byte, now int64) []byte {
	return s.ans.AppendFinish(b, s.endEvent(now))
}

func (s *stream) endEvent(now int64) wire.End {
	return wire.End{
		Output: s.seq.Want, Reasoning: s.reasoning, Finish: s.finish, Usage: s.usage, NoDone: s.noDone, Now: now,
	}
}

// endless tells that the last event must not say that it is the last, where that is all the terminator there is.
func (s *stream) endless() bool {
	return s.noDone && (s.ans.API == wire.Triton || s.ans.API == wire.TGI)
}

// cancel ends a stream whose client has left, or is being left. It runs on the pacer's thread.
func (s *stream) cancel(now int64) {
	if s.over {
		return
	}
	s.srv.model.Remove(now, &s.seq)
	s.close(s.lostStatus(), s.srv.clock.Now())
}

// lostStatus is the status of an answer that nobody reads to its end: the client has left, or the server is closing.
func (s *stream) lostStatus() string {
	select {
	case <-s.srv.closing:
		return StatusReset
	default:
		return StatusCancelled
	}
}

// close completes the record and gives the connection back to its goroutine.
func (s *stream) close(status string, now int64) {
	if s.over {
		return
	}
	s.over = true
	s.rec.Status, s.rec.End = status, now
	s.rec.Started = s.startTime()
	s.rec.CachedTokens, s.rec.OutputTokens = s.seq.Cached, s.sent
	if status == StatusComplete || status == StatusEncoded {
		s.rec.FinishReason = s.finish
	}
	s.srv.stats.countFinished(s)
	s.srv.truth.add(s.rec)
	if s.closing {
		s.c.ending.Store(true)
		_ = s.c.nc.SetReadDeadline(pastDeadline())
	}
	s.c.done <- struct{}{}
}

// startTime returns when the request left the queue, 0 where it never did.
func (s *stream) startTime() int64 {
	if s.inline || s.seq.Started == 0 {
		return s.seq.Started
	}
	return s.srv.pacer.Real(s.seq.Started)
}

package sim

import "bflow.dev/bflow/runplan"

// ending is how an answer ends.
type ending uint8

const (
	endWell      ending = iota
	endTruncated        // cleanly, but early
	endError            // with an error object in the stream
	endReset
	endStall // not at all
)

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
	if h.has(runplan.FaultUsageMissing) {
		s.usage, s.ans.OutputCount, s.ans.InputCount = false, false, false
	}
	s.noDone = h.has(runplan.FaultNoDone)
	if h.has(runplan.FaultReasoning) && s.ans.Reasons() {
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
	s.ans.CR, s.ans.BOM, s.ans.Tight = h.has(runplan.FaultCR), h.has(runplan.FaultBOM), h.has(runplan.FaultNoSpace)
	s.ans.Gzip, s.ans.Tools = h.has(runplan.FaultGzip), h.has(runplan.FaultToolCalls)
	s.ans.Continual = s.ans.Continual || h.has(runplan.FaultUsageEvery)
	if h.has(runplan.FaultBigEvent) {
		s.ans.Big = h.number(runplan.FaultBigEvent, 1<<20)
	}
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
		s.send(s.ans.JSON(500, s.ans.Error(500, "", errorText)), now, true)
		s.close(StatusFailed, now)
	case s.end == endError:
		s.send(s.ans.AppendError(nil, errorText), now, true)
		s.close(StatusFailed, now)
	case s.whole: // truncated: the length in the header promises more
		b := s.ans.Whole(s.endEvent(now))
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

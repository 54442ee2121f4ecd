package sim

import "sync/atomic"

// stats are the counters and histograms that the engine exports. Those of single tokens are written by the pacer's
// thread alone, except for answers that need no pacing.
type stats struct {
	latenessFine atomic.Pointer[fineHistogram] // of every send, ns; replaced to start over
	lateness     *histogram
	events       atomic.Int64 // sends with tokens
	blocked      atomic.Int64
	prompt       atomic.Int64
	generation   atomic.Int64
	success      [finishReasons]atomic.Int64

	ttft, itl, tpot, e2e                *histogram
	queue, prefill, decode, inference   *histogram
	promptLen, outputLen, maxTokens, nn *histogram
}

// Finish reasons as vLLM counts them.
const (
	reasonStop = iota
	reasonLength
	reasonAbort
	reasonError
	finishReasons
)

// newStats returns empty statistics. The bounds are those of vLLM, so that its dashboards fit.
func newStats(modelLen int) *stats {
	requests := func() *histogram {
		return newSeconds(.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680)
	}
	tokens := func() *histogram {
		return newSeconds(.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)
	}
	st := &stats{
		lateness: newSeconds(1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, .01, .1, 1),
		ttft: newSeconds(.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160,
			640, 2560),
		itl: tokens(), tpot: tokens(), e2e: requests(),
		queue: requests(), prefill: requests(), decode: requests(), inference: requests(),
		promptLen: newCounts(modelLen), outputLen: newCounts(modelLen), maxTokens: newCounts(modelLen), nn: newCounts(20),
	}
	st.latenessFine.Store(&fineHistogram{})
	return st
}

// countAccepted notes a request that goes to the model.
func (st *stats) countAccepted(r *Record) {
	st.maxTokens.observe(int64(r.AskedTokens))
	st.nn.observe(1)
}

// countTokens notes n new tokens of s at the time now.
func (st *stats) countTokens(s *stream, n int, now int64) {
	st.generation.Add(int64(n))
	if s.lastToken == 0 {
		s.firstToken = now
		st.prompt.Add(int64(s.rec.PromptTokens))
		st.ttft.observe(now - s.rec.Arrival)
	} else {
		st.itl.observe(now - s.lastToken)
	}
	s.lastToken = now
}

// countSend notes a send that was late by ns.
func (st *stats) countSend(ns int64) {
	st.events.Add(1)
	st.lateness.observe(max(ns, 0))
	st.latenessFine.Load().add(ns)
}

// countFinished notes the end of a request that was given to the model.
func (st *stats) countFinished(s *stream) {
	r := s.rec
	switch {
	case r.Status == StatusCancelled || r.Status == StatusReset:
		st.success[reasonAbort].Add(1)
	case r.Status == StatusFailed:
		st.success[reasonError].Add(1)
	case s.finish == "stop":
		st.success[reasonStop].Add(1)
	default:
		st.success[reasonLength].Add(1)
	}
	st.blocked.Add(int64(r.BlockedWrites))
	if s.firstToken == 0 {
		return
	}
	st.e2e.observe(r.End - r.Arrival)
	st.queue.observe(max(0, r.Started-r.Arrival))
	st.prefill.observe(max(0, s.firstToken-r.Started))
	st.decode.observe(s.lastToken - s.firstToken)
	st.inference.observe(max(0, s.lastToken-r.Started))
	st.promptLen.observe(int64(r.PromptTokens))
	st.outputLen.observe(int64(r.OutputTokens))
	if r.OutputTokens > 1 {
		st.tpot.observe((s.lastToken - s.firstToken) / int64(r.OutputTokens-1))
	}
}

package sim

import "sync/atomic"

// stats are the counters and histograms that the engine exports.
type stats struct {
	lateness   fine // of every send, ns
	events     atomic.Int64
	generation atomic.Int64
}

func newStats() *stats { return &stats{} }

// tokens notes the pending tokens of s, sent now. It runs on the pacer's thread.
func (st *stats) tokens(s *stream, now int64) {
	st.generation.Add(int64(s.pending))
	st.events.Add(1)
}

// finished notes the end of a request.
func (st *stats) finished(r *Record) {}

// accepted notes a request that goes to the model.
func (st *stats) accepted(r *Record) {}

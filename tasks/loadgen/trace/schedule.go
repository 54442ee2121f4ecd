package trace

import (
	"fmt"

	"bflow.dev/bflow/load/schedule"
	"bflow.dev/bflow/runplan"
)

// Schedule returns the starts of the sessions: Send.Index is the index that Session takes, so a shard of it has whole
// sessions. Later turns follow by Request.After. It ends after the last play, at the stage's duration, or after as many
// starts as its requests, and is an error for a trace without times.
func (t *Trace) Schedule(s runplan.Stage) (schedule.Schedule, error) {
	if t.untimed > 0 {
		return nil, fmt.Errorf("scheduling stage %q: line %d of the trace begins a session and has no timestamp: add "+
			"one, or give a concurrency or a rate", s.Name, t.untimed)
	}
	return &starts{trace: t, duration: int64(s.Duration), requests: int64(s.Requests)}, nil
}

type starts struct {
	trace    *Trace
	duration int64 // ns; 0 = no bound
	requests int64 // 0 = no bound
	next     int64
}

func (s *starts) Next() (schedule.Send, bool) {
	if s.next >= s.trace.Sessions() || s.requests > 0 && s.next >= s.requests {
		return schedule.Send{}, false
	}
	turns, start := s.trace.Session(s.next)
	send := schedule.Send{At: start + turns[0].At, Index: s.next}
	if s.duration > 0 && send.At >= s.duration {
		return schedule.Send{}, false
	}
	s.next++
	return send, true
}

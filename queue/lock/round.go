package lock

import (
	"fmt"
	"time"
)

// Request is a run as the lock sees it.
type Request struct {
	Run    string    // what a person calls it
	Key    string    // "" for a run that needs no shared state
	Queued time.Time // since when it queues
}

// Answer says whether a run may start.
type Answer struct {
	Granted bool
	Fence   int64  // with a key: what its tasks compare before they change the platform
	Requeue bool   // not granted: it must not keep its quota, because others come first for whom it may be needed
	Reason  string // not granted: why, in a sentence
	Soon    bool   // not granted: another answer comes in a moment, nobody has to wait for anything
}

// Round judges the runs of one hub that hold quota of a target and wait, at one moment and in their order. Only such
// runs come here: one without a reservation closes no door.
type Round struct {
	memory  Memory
	now     time.Time
	target  string
	started []Request
	claims  []Request
	current string   // the key that runs of ours hold
	next    *Request // the first run that waits for the lock
	closed  bool     // next wants another key than the one that is held
	seen    bool     // the Lease must be known though no key is wanted
}

// Round begins a round. started are the runs with a key that were let start and are not released, claims those that
// have leave to start.
func (m *Memory) Round(now time.Time, target string, started, claims []Request) *Round {
	r := &Round{memory: *m, now: now, target: target, started: started, claims: claims}
	for _, q := range append(append([]Request{}, started...), claims...) {
		if q.Key != "" && r.current == "" {
			r.current = q.Key
		}
	}
	return r
}

// Situation is what the Lease should be made to fit, after all runs were asked for.
func (r *Round) Situation() Situation {
	var s Situation
	for _, q := range r.started {
		if q.Key != "" && s.Started == "" {
			s.Started = q.Key
		}
	}
	for _, q := range r.claims {
		if q.Key != "" && (s.Claim == nil || q.Queued.Before(s.Claim.Since)) {
			s.Claim = &Want{q.Key, q.Queued}
		}
	}
	if r.next != nil {
		s.Want = &Want{r.next.Key, r.next.Queued}
	}
	return s
}

// Curious says whether somebody asked who holds no key, and so needs to know that no other hub wants to be alone.
func (r *Round) Curious() bool { return r.seen }

// Ask is the answer to one run. Runs come in their order.
func (r *Round) Ask(q Request) Answer {
	switch {
	case q.Key == "":
		return r.keyless()
	case r.current == "" && r.next == nil:
		r.next = &q
		return r.grant(q)
	case r.next == nil && q.Key == r.current: // it joins those that hold it
		if ask, other := r.memory.ahead(r.now, q.Queued); other && !r.foreign() {
			return requeue("Hub %s waits for target %q with setup %q, so no more runs begin there with setup %q", short(ask.Hub),
				r.target, ask.Key, q.Key)
		}
		return r.grant(q)
	case r.next == nil:
		r.next, r.closed = &q, true
		return r.wait("Target %q is set up as %q for run %s; setup %q is installed once those runs have ended", r.target,
			r.current, r.holder(), q.Key)
	case q.Key != r.next.Key:
		return requeue("Run %s comes first on target %q, with setup %q", r.next.Run, r.target, r.next.Key)
	case r.closed:
		return r.wait("Target %q is set up as %q for run %s; setup %q is installed once those runs have ended", r.target,
			r.current, r.holder(), q.Key)
	default:
		return r.grant(q)
	}
}

// grant lets the run start where the Lease is ours, else says what is missing.
func (r *Round) grant(q Request) Answer {
	if ask, other := r.memory.ahead(r.now, q.Queued); other && r.current == "" {
		return r.wait("Hub %s has waited longer for target %q, with setup %q", short(ask.Hub), r.target, ask.Key)
	}
	if fence, ok := r.memory.FenceFor(r.now, q.Key); ok {
		return Answer{Granted: true, Fence: fence}
	}
	l := r.memory.lease
	switch {
	case r.foreign() && !r.memory.expired(r.now):
		return r.wait("Hub %s uses target %q with setup %q", short(l.Holder), r.target, l.Key)
	case r.foreign():
		return r.wait("Hub %s has not renewed its lock of target %q; it is taken over when none of its pods is left there",
			short(l.Holder), r.target)
	case l.Holder == r.memory.hub && len(l.Before) > 0:
		return r.wait(
			"The lock of target %q was taken over from hub %s; setup %q is installed once nothing of it was seen for %s",
			r.target, short(l.Before[0]), q.Key, LeaseDuration)
	case l.Holder == r.memory.hub && IsExclusive(q.Key) && l.Key == q.Key:
		return r.wait("The run wants target %q for itself, and pods of other hubs are there", r.target)
	}
	return r.wait("Taking the lock of target %q for setup %q", r.target, q.Key)
}

func (r *Round) keyless() Answer {
	r.seen = true
	l := r.memory.lease
	switch {
	case !r.memory.Fresh(r.now):
		a := r.wait("Reading the lock of target %q", r.target)
		a.Soon = true
		return a
	case r.foreign() && IsExclusive(l.Key) && !r.memory.Abandoned(r.now):
		return r.wait("Hub %s uses target %q alone", short(l.Holder), r.target)
	}
	return Answer{Granted: true}
}

func (r *Round) foreign() bool {
	return r.memory.lease.Holder != "" && r.memory.lease.Holder != r.memory.hub
}

// holder is a run that holds the current key.
func (r *Round) holder() string {
	for _, q := range append(append([]Request{}, r.started...), r.claims...) {
		if q.Key == r.current {
			return q.Run
		}
	}
	return ""
}

func (r *Round) wait(format string, args ...any) Answer {
	return Answer{Reason: fmt.Sprintf(format, args...)}
}

func requeue(format string, args ...any) Answer {
	return Answer{Requeue: true, Reason: fmt.Sprintf(format, args...)}
}

// short is enough of the identity of a hub for a person to tell it from others.
func short(hub string) string { return hub[:min(len(hub), 8)] }

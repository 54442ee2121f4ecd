package lock_test

import (
	"slices"
	"time"

	"bflow.dev/bflow/queue/lock"
	"bflow.dev/bflow/queue/lock/history"
)

// reserve is Kueue: first come, first served, never more than the quota.
func (h *hub) reserve() {
	used := 0
	for _, r := range h.runs {
		if r.state >= reserved && r.state < released {
			used += r.size
		}
	}
	for _, r := range h.runs {
		if r.state != queued || h.w.now.Before(r.away) {
			continue
		}
		if used+r.size > h.quota {
			return
		}
		used += r.size
		r.state = reserved
	}
}

// requests are the runs in some states.
func (h *hub) requests(states ...state) []lock.Request {
	var out []lock.Request
	for _, r := range h.runs {
		if slices.Contains(states, r.state) {
			out = append(out, r.request())
		}
	}
	return out
}

// check judges the runs that hold quota, as the AdmissionCheck does.
func (h *hub) check() {
	now := h.clock()
	round := h.memory.Round(now, "lab", h.requests(started, over), h.requests(ready, confirmed))
	for _, r := range h.runs {
		if r.state != reserved || len(h.dirty) > 0 || !h.linked {
			continue
		}
		switch a := round.Ask(r.request()); {
		case a.Granted:
			r.state = ready
		case a.Requeue:
			r.state, r.away = queued, h.w.now.Add(sentBackWait)
		}
	}
	h.held = h.requests(ready, confirmed)
	h.situation = round.Situation()
}

// admit lets runs start that have leave, after it has asked the lock again.
func (h *hub) admit() {
	for _, r := range h.runs {
		switch {
		case r.state == confirmed && h.w.chance(2):
			r.begin()
		case r.state == ready && h.w.chance(2):
			if r.key == "" {
				r.begin()
			} else if fence, ok := h.memory.FenceFor(h.clock(), r.key); ok {
				r.fence, r.state = fence, confirmed
			}
		}
	}
}

func (r *run) begin() {
	r.state = started
	r.hub.w.tell(history.Event{Kind: history.Started, Hub: r.hub.name, Run: r.name, Key: r.key, Fence: r.fence,
		Amounts: map[string]int64{"gpu": int64(r.size)}})
}

// task is what the tasks of a run do on the target, whatever becomes of the controller.
func (r *run) task() {
	w := r.hub.w
	if r.state != started || !w.chance(2) {
		return
	}
	if w.faults && w.chance(300) { // killed, or timed out
		r.end()
		return
	}
	switch {
	case !r.hub.tasked: // it goes on trying
	case r.pods && !w.now.Before(r.ends):
		r.clean()
		r.end()
	case r.pods:
	case r.key != "" && (r.checked.IsZero() || w.now.Sub(r.checked) > acting):
		if !w.flaws.noFence && (w.lease.Holder != r.hub.name || w.lease.Fence != r.fence) {
			r.end() // fenced: it must leave the platform alone
			return
		}
		r.checked = w.now
	default:
		r.pods, r.ends = true, w.now.Add(r.takes)
		w.tell(history.Event{Kind: history.Acts, Hub: r.hub.name, Run: r.name, Key: r.key, Fence: r.fence})
	}
}

func (r *run) end() { r.state, r.overAt = over, r.hub.w.now }

func (r *run) clean() {
	if r.pods {
		r.pods = false
		r.hub.w.tell(history.Event{Kind: history.Clean, Hub: r.hub.name, Run: r.name})
	}
}

// release gives back what ended runs hold, and cleans a dirty target.
func (h *hub) release() {
	if h.linked {
		for _, r := range h.dirty {
			r.clean()
		}
		h.dirty = nil
	}
	for _, r := range h.runs {
		if r.state != over {
			continue
		}
		switch {
		case h.linked && !r.pods:
			r.state = released
			h.w.tell(history.Event{Kind: history.Released, Hub: h.name, Run: r.name})
		case h.linked:
			r.clean()
		case h.w.now.Sub(r.overAt) > giveUp:
			r.state = released
			h.dirty = append(h.dirty, r)
			h.w.tell(history.Event{Kind: history.Forced, Hub: h.name, Run: r.name})
		}
	}
}

func (h *hub) clock() time.Time { return h.w.now.Add(h.skew) }

// keep is the controller's work on the Lease, one request at a time.
func (h *hub) keep() {
	w := h.w
	if h.at == idle && w.chance(3) || !h.linked {
		if !h.linked {
			h.at = idle
		}
		return
	}
	switch h.at {
	case idle:
		h.seen, h.at = w.lease, haveRead
	case haveRead:
		h.memory.NoteRead(h.clock(), h.seen)
		h.sent, h.alive = h.clock(), false
		if looking := h.memory.HubsToCheck(h.clock()); len(looking) > 0 {
			h.alive = w.alive(h.name, looking) && !w.flaws.hasty
			h.memory.NoteAlive(h.sent, h.alive)
		}
		h.at = haveLooked
	case haveLooked:
		h.decide()
	case writing:
		h.write()
	}
}

// alive says whether pods of some hubs are on the target.
func (w *world) alive(mine string, hubs []string) bool {
	for _, h := range w.hubs {
		if h.name == mine || !slices.Contains(hubs, h.name) && hubs[0] != lock.Everybody {
			continue
		}
		if slices.ContainsFunc(h.runs, func(r *run) bool { return r.pods }) {
			return true
		}
	}
	return false
}

func (h *hub) decide() {
	h.sent = h.clock()
	s := h.memory.Round(h.sent, "lab", h.requests(started, over), h.held).Situation()
	s.Want, s.Alive, s.Dirty = h.situation.Want, h.alive, len(h.dirty) > 0
	if h.w.flaws.forgetful {
		s.Started, s.Dirty = "", false
	}
	if h.next, h.step = h.memory.Next(h.sent, s); h.step == lock.Rest {
		h.at = idle
		return
	}
	h.at = writing
}

// write is taken only where nobody else has written meanwhile; the answer may be lost.
func (h *hub) write() {
	w := h.w
	h.at = idle
	if w.lease.Version != h.next.Version {
		return
	}
	before := w.lease
	w.serial++
	h.next.Version = string(rune('a'+w.serial%26)) + time.Duration(w.serial).String()
	w.lease = h.next
	w.judge(before, h.step, h.name)
	if w.faults && w.chance(20) {
		return
	}
	h.memory.NoteWritten(h.sent, h.clock(), h.next)
}

// judge writes down what became of the Lease.
func (w *world) judge(before lock.Lease, step lock.Step, hub string) {
	now := w.lease
	if now.Fence < before.Fence || (now.Holder != before.Holder || now.Key != before.Key) && now.Holder != "" &&
		now.Fence <= before.Fence {
		w.wrong = append(w.wrong, "the fence does not grow")
	}
	switch step {
	case lock.Taken, lock.TakenOff, lock.Switched:
		e := history.Event{Kind: history.Taken, Hub: hub, Key: now.Key, Fence: now.Fence}
		if step == lock.TakenOff {
			e.From = before.Holder
		}
		w.tell(e)
	case lock.Freed:
		w.tell(history.Event{Kind: history.Freed, Hub: hub, Fence: now.Fence})
	}
}

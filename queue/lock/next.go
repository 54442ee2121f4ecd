package lock

import (
	"slices"
	"time"
)

// Step is what a write to the Lease does.
type Step string

// Steps.
const (
	Rest     Step = ""          // nothing is to be written
	Asked    Step = "asked"     // we wait, and say so
	Unasked  Step = "unasked"   // we wait no more
	Taken    Step = "taken"     // it was free
	TakenOff Step = "takenover" // its holder did not renew it
	Switched Step = "switched"  // another key
	Settled  Step = "settled"   // nothing of the holder before us is alive
	Renewed  Step = "renewed"
	Freed    Step = "freed" // nobody of ours needs it
)

// Frees says whether a step lets go of the key that was held: only what is known past every cache may lead to it.
func (s Step) Frees() bool { return s == Freed || s == Switched }

// Want is a key that should be held, and since when the run queues that wants it.
type Want struct {
	Key   string
	Since time.Time
}

// Situation is what a hub knows of its own runs on the target.
type Situation struct {
	Started string // key of runs that were let start and are not released; "" for none
	Claim   *Want  // of runs that have leave to start: they cannot be sent back
	Want    *Want  // of the run that comes next
	Dirty   bool   // something of a run that was released by force may still be on the target
	Alive   bool   // something of the hubs that HubsToCheck names is alive, or that could not be found out
}

// Idle says whether no run of ours needs the Lease.
func (s Situation) Idle() bool { return s.Started == "" && s.Claim == nil && s.Want == nil }

// Next is what the Lease should become, and the step that this is. After a step that lets go of a key nothing is
// granted by it any more, whatever becomes of the write.
func (m *Memory) Next(now time.Time, s Situation) (Lease, Step) {
	l, step := m.next(now, s)
	if step.Frees() {
		m.until = time.Time{}
	}
	return l, step
}

func (m *Memory) next(now time.Time, s Situation) (Lease, Step) {
	l := m.lease
	l.Before = slices.Clone(l.Before)
	l.Asks = without(l.Asks, func(a Ask) bool { return a.Hub == m.hub || now.Sub(m.heard[a.Hub].since) >= LeaseDuration })
	free := l.Holder == ""
	switch {
	case !m.known:
		return m.lease, Rest
	case l.Holder == m.hub:
		return m.keep(now, l, s)
	case !free && !m.expired(now), s.Alive && (!free || l.Version == ""):
		return m.wait(now, s.wish())
	}
	want := s.wish()
	if free && s.Started != "" { // it was taken from under our runs: they have the first right
		want = &Want{Key: s.Started}
	}
	if want == nil {
		return m.wait(now, nil)
	}
	if _, other := m.ahead(now, want.Since); other && s.Started == "" {
		return m.wait(now, want)
	}
	return m.occupy(now, l, want.Key)
}

// wish is what a hub without the Lease wants it for.
func (s Situation) wish() *Want {
	if s.Claim != nil {
		return s.Claim
	}
	return s.Want
}

// occupy makes the Lease ours.
func (m *Memory) occupy(now time.Time, l Lease, key string) (Lease, Step) {
	step := Taken
	if l.Holder != "" {
		step = TakenOff
		if !slices.Contains(l.Before, l.Holder) {
			l.Before = append(l.Before, l.Holder)
		}
	}
	l.Before = slices.DeleteFunc(l.Before, func(hub string) bool { return hub == m.hub })
	l.Fence++
	if l.Version == "" { // fences go on growing when somebody deletes the Lease
		l.Fence = max(l.Fence, now.Unix())
	}
	l.Holder, l.Key, l.Renewed = m.hub, key, m.stamp(now)
	return l, step
}

// keep is the next step of the holder.
func (m *Memory) keep(now time.Time, l Lease, s Situation) (Lease, Step) {
	key := s.Started
	if key == "" && s.Dirty {
		key = l.Key
	}
	if key == "" && s.Claim != nil {
		key = s.Claim.Key
	}
	if _, other := m.aheadOf(now, s.Want); key == "" && s.Want != nil && !other {
		key = s.Want.Key
	}
	l.Renewed = m.stamp(now)
	switch {
	case key == "":
		l.Holder, l.Key = "", ""
		if s.Want != nil {
			l.Asks = m.withOurAsk(l.Asks, *s.Want)
		}
		return l, Freed
	case key != l.Key:
		l.Key = key
		l.Fence++
		return l, Switched
	case len(l.Before) > 0 && !m.quiet.IsZero() && now.Sub(m.quiet) >= LeaseDuration:
		l.Before = nil
		return l, Settled
	case !m.holdsLease(now) || now.Sub(m.wrote) >= RenewInterval:
		return l, Renewed
	}
	return m.lease, Rest
}

func (m *Memory) aheadOf(now time.Time, w *Want) (Ask, bool) {
	if w == nil {
		return Ask{}, false
	}
	return m.ahead(now, w.Since)
}

// wait says what we wait for, again and again, as long as we do.
func (m *Memory) wait(now time.Time, want *Want) (Lease, Step) {
	l := m.lease
	mine, asked := l.askOf(m.hub)
	others := without(l.Asks, func(a Ask) bool { return a.Hub == m.hub })
	switch {
	case want == nil && !asked, l.Version == "":
		return m.lease, Rest
	case want == nil:
		l.Asks = others
		return l, Unasked
	case asked && mine.Key == want.Key && mine.Since.Equal(want.Since) && now.Sub(m.heard[m.hub].since) < RenewInterval:
		return m.lease, Rest
	}
	l.Asks = m.withOurAsk(others, *want)
	return l, Asked
}

func (m *Memory) withOurAsk(others []Ask, want Want) []Ask {
	mine, _ := m.lease.askOf(m.hub)
	out := append(slices.Clone(others), Ask{Hub: m.hub, Key: want.Key, Since: want.Since, Beat: mine.Beat + 1})
	slices.SortFunc(out, func(a, b Ask) int {
		if a.Hub < b.Hub {
			return -1
		}
		return 1
	})
	return out
}

// stamp is a renewal that differs from the one before, in the resolution that an API server keeps.
func (m *Memory) stamp(now time.Time) time.Time {
	at := now.UTC().Truncate(time.Microsecond)
	if at.Equal(m.lease.Renewed) {
		at = at.Add(time.Microsecond)
	}
	return at
}

// Again is after how long to look at the Lease again though nothing has changed; 0 = not at all.
func (m *Memory) Again(now time.Time, s Situation) time.Duration {
	switch {
	case m.known && m.lease.Holder == m.hub:
		return max(time.Second, RenewInterval-now.Sub(m.wrote))
	case !m.known || s.wish() != nil || s.Started != "":
		return RenewInterval / 3
	}
	return 0
}

package lock

import (
	"slices"
	"time"
)

// Memory is what one controller of a hub has seen of the Lease of one target. It is lost with the controller: nothing
// that must be safe rests on it, it only makes a hub believe less than it might. It is not safe for concurrent use.
type Memory struct {
	hub   string
	lease Lease
	known bool
	read  time.Time // when the Lease was last read or written
	fresh time.Time // when its renewal was first seen as it is now
	wrote time.Time // when the last write of ours that was taken was sent
	until time.Time // until when we believe that we hold it; zero where we do not
	quiet time.Time // the first of the looks in a row that saw nothing of the hubs before us
	alone int64     // the fence of an exclusive key under which nobody else was seen
	heard map[string]voice
}

// voice is the newest beat of a hub that waits, and since when it stands still.
type voice struct {
	beat  int64
	since time.Time
}

// NewMemory knows nothing yet.
func NewMemory(hub string) *Memory { return &Memory{hub: hub, heard: map[string]voice{}} }

// Lease is what was last seen, and whether anything was.
func (m *Memory) Lease() (Lease, bool) { return m.lease, m.known }

// NoteRead takes in a Lease that was read. now is a moment after the answer came.
func (m *Memory) NoteRead(now time.Time, l Lease) {
	if l.Holder != m.hub || l.Fence != m.lease.Fence { // another controller of this hub, too, may have written
		m.until = time.Time{}
	}
	if l.Holder != m.lease.Holder || l.Fence != m.lease.Fence || !l.Renewed.Equal(m.lease.Renewed) {
		m.quiet = time.Time{}
	}
	m.take(now, l)
}

// NoteWritten takes in a Lease that was written. sent is a moment before the request went out.
func (m *Memory) NoteWritten(sent, now time.Time, l Lease) {
	if !m.known || l.Fence != m.lease.Fence || l.Holder != m.lease.Holder {
		m.quiet = time.Time{}
	}
	m.wrote, m.until = sent, time.Time{}
	if l.Holder == m.hub {
		m.until = sent.Add(RenewDeadline)
	}
	m.take(now, l)
}

func (m *Memory) take(now time.Time, l Lease) {
	if !m.known || l.Holder != m.lease.Holder || l.Fence != m.lease.Fence || !l.Renewed.Equal(m.lease.Renewed) {
		m.fresh = now // a wish that we have written is no renewal
	}
	heard := map[string]voice{}
	for _, a := range l.Asks {
		v, ok := m.heard[a.Hub]
		if !ok || v.beat != a.Beat {
			v = voice{a.Beat, now}
		}
		heard[a.Hub] = v
	}
	m.lease, m.known = l, true
	m.read, m.heard = now, heard
}

// HubsToCheck names the hubs whose pods have to be looked at before Next, after the Lease was read; none is the rule.
func (m *Memory) HubsToCheck(now time.Time) []string {
	l := m.lease
	switch {
	case !m.known:
		return nil
	case l.Version == "": // nobody knows who held it before it was deleted
		return []string{Everybody}
	case l.Holder == m.hub && len(l.Before) > 0:
		return l.Before
	case l.Holder == m.hub && IsExclusive(l.Key) && m.alone != l.Fence:
		return []string{Everybody}
	case m.Late(now):
		return append(slices.Clone(l.Before), l.Holder)
	}
	return nil
}

// NoteAlive takes in whether something of the hubs that HubsToCheck named is alive on the target. now is a moment
// before the look began.
func (m *Memory) NoteAlive(now time.Time, alive bool) {
	switch {
	case alive:
		m.quiet = time.Time{}
	case m.quiet.IsZero():
		m.quiet = now
	}
	if !alive && m.lease.Holder == m.hub && len(m.lease.Before) == 0 {
		m.alone = m.lease.Fence
	}
}

// FenceFor says whether runs with key may be let start, and by which fence.
func (m *Memory) FenceFor(now time.Time, key string) (fence int64, ok bool) {
	l := m.lease
	ok = m.holdsLease(now) && l.Key == key && len(l.Before) == 0 && (!IsExclusive(key) || m.alone == l.Fence)
	return l.Fence, ok
}

// Fresh says whether the Lease was read a short time ago.
func (m *Memory) Fresh(now time.Time) bool { return m.known && now.Sub(m.read) < RenewDeadline }

func (m *Memory) holdsLease(now time.Time) bool {
	return m.known && m.lease.Holder == m.hub && now.Before(m.until)
}

// expired says whether a Lease of another hub was not renewed for LeaseDuration while we looked on.
func (m *Memory) expired(now time.Time) bool { return now.Sub(m.fresh) >= LeaseDuration }

// Late says whether another hub holds the Lease and does not renew it.
func (m *Memory) Late(now time.Time) bool {
	return m.lease.Holder != "" && m.lease.Holder != m.hub && m.expired(now)
}

// Abandoned says whether the hub that holds the Lease does not renew it, and nothing of it was seen alive for
// LeaseDuration.
func (m *Memory) Abandoned(now time.Time) bool {
	return m.Late(now) && !m.quiet.IsZero() && now.Sub(m.quiet) >= LeaseDuration
}

// ahead is the wish of another hub that goes before ours, if there is one that still beats.
func (m *Memory) ahead(now time.Time, since time.Time) (Ask, bool) {
	var first Ask
	found := false
	mine := Ask{Hub: m.hub, Since: since}
	for _, a := range m.lease.Asks {
		if a.Hub == m.hub || now.Sub(m.heard[a.Hub].since) >= LeaseDuration || !a.before(mine) {
			continue
		}
		if !found || a.before(first) {
			first, found = a, true
		}
	}
	return first, found
}

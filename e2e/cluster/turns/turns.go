// Package turns lets tests that share clusters go beside each other as far as they bear it. Each says what it needs of a
// hub and of the worker, and waits for its turn. It speaks to no cluster and knows no test.
package turns

import (
	"slices"
	"sync"
)

// Part is how much of a cluster a test needs.
type Part int

// Parts.
const (
	None  Part = iota
	Share      // beside others
	Whole      // with nobody beside it
	Every      // of hubs only: beside others, on every hub
)

// Need is what a test needs at once.
type Need struct{ Hub, Worker Part }

// Pool hands clusters out.
type Pool struct {
	mu      sync.Mutex
	hubs    []place // those that need a whole hub take the last one first, the others the first one
	worker  place
	most    int // shares of a hub at once
	waiting []*request
}

// place is a cluster, and who has it.
type place struct {
	shares int
	whole  bool
}

type request struct {
	need  Need
	hubs  []int
	ready chan struct{}
}

// New returns a pool of hubs, of each of which most shares may be out at once, and one worker.
func New(hubs, most int) *Pool { return &Pool{hubs: make([]place, hubs), most: max(1, most)} }

// Take waits until what is needed is free, and returns the numbers of the hubs and how to give all of it back.
func (p *Pool) Take(need Need) (hubs []int, release func()) {
	r := &request{need: need, ready: make(chan struct{})}
	p.mu.Lock()
	p.waiting = append(p.waiting, r)
	p.grant()
	p.mu.Unlock()
	<-r.ready
	return r.hubs, sync.OnceFunc(func() { p.giveBack(r) })
}

func (p *Pool) giveBack(r *request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range r.hubs {
		p.hubs[i].take(r.need.Hub, -1)
	}
	p.worker.take(r.need.Worker, -1)
	p.grant()
}

// grant serves who waits, those first that are the hardest to serve: otherwise the others would leave them no moment.
func (p *Pool) grant() {
	slices.SortStableFunc(p.waiting, func(a, b *request) int { return b.need.weight() - a.need.weight() })
	for i := 0; i < len(p.waiting); {
		r := p.waiting[i]
		hubs, ok := p.fits(r.need)
		if !ok {
			i++
			continue
		}
		for _, h := range hubs {
			p.hubs[h].take(r.need.Hub, 1)
		}
		p.worker.take(r.need.Worker, 1)
		p.waiting = slices.Delete(p.waiting, i, i+1)
		r.hubs = hubs
		close(r.ready)
	}
}

func (n Need) weight() (w int) {
	switch n.Hub {
	case Every:
		w = 4
	case Whole:
		w = 2
	}
	if n.Worker == Whole {
		w++
	}
	return w
}

func (p *place) take(part Part, n int) {
	switch part {
	case Share, Every:
		p.shares += n
	case Whole:
		p.whole = n > 0
	}
}

// fits finds hubs for a need, if there is also enough of the worker.
func (p *Pool) fits(need Need) (hubs []int, ok bool) {
	if p.worker.whole && need.Worker != None || p.worker.shares > 0 && need.Worker == Whole {
		return nil, false
	}
	switch need.Hub {
	case Share:
		return p.roomiest()
	case Whole:
		return p.empty()
	case Every:
		for i, h := range p.hubs {
			hubs, ok = append(hubs, i), !h.whole
			if !ok {
				return nil, false
			}
		}
	}
	return hubs, true
}

// roomiest is the hub with the fewest shares out. The last one is kept for those that wait for a whole one.
func (p *Pool) roomiest() (hubs []int, ok bool) {
	best, last := -1, len(p.hubs)-1
	for i, h := range p.hubs {
		if h.whole || h.shares >= p.most || i == last && (p.wanted(Whole) || p.wanted(Every)) {
			continue
		}
		if best < 0 || h.shares < p.hubs[best].shares {
			best = i
		}
	}
	return []int{best}, best >= 0
}

// empty is a hub of which nobody has anything: the last one, and another where nobody wants a share of it.
func (p *Pool) empty() (hubs []int, ok bool) {
	for i := len(p.hubs) - 1; i >= 0; i-- {
		if p.hubs[i].shares == 0 && !p.hubs[i].whole && (i == len(p.hubs)-1 || !p.wanted(Share)) {
			return []int{i}, true
		}
	}
	return nil, false
}

func (p *Pool) wanted(part Part) bool {
	return slices.ContainsFunc(p.waiting, func(r *request) bool { return r.need.Hub == part })
}

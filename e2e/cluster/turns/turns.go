// Package turns schedules tests that share clusters, so that as many as possible run in parallel. Each test declares
// what it needs of a hub and of the worker, and waits for its turn. It connects to no cluster and knows no test.
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
	Rough      // of hubs only: beside others that are rough too
	Whole      // with nobody beside it
	Every      // of hubs only: beside others, on every hub
)

// Need is what a test needs at once.
type Need struct {
	Hub, Worker Part
	Runs        int // that it has on a share of a hub at once; 0 is one
}

// Pool hands clusters out.
type Pool struct {
	mu      sync.Mutex
	hubs    []place // who shares takes the first one first, the others the last one
	worker  place
	most    int // runs at once on a hub that is shared, and as many rough tests
	begun   bool
	waiting []*request
}

// place is a cluster, and who has it.
type place struct {
	shares, rough, runs int
	whole               bool
}

type request struct {
	need  Need
	hubs  []int
	ready chan struct{}
}

// New returns a pool of hubs, on each of which those that share it may have most runs at once, and one worker.
func New(hubs, most int) *Pool { return &Pool{hubs: make([]place, hubs), most: max(1, most)} }

// Begin has the turns begin: those that have asked before are not served in the order in which they came.
func (p *Pool) Begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = true
	p.grant()
}

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
		p.hubs[i].runs -= r.need.runs()
	}
	p.worker.take(r.need.Worker, -1)
	p.grant()
}

// grant serves who waits, those first that are the hardest to serve: otherwise the others would leave them no moment.
func (p *Pool) grant() {
	slices.SortStableFunc(p.waiting, func(a, b *request) int { return b.need.weight() - a.need.weight() })
	for i := 0; p.begun && i < len(p.waiting); {
		r := p.waiting[i]
		hubs, ok := p.fits(r.need)
		if !ok {
			i++
			continue
		}
		for _, h := range hubs {
			p.hubs[h].take(r.need.Hub, 1)
			p.hubs[h].runs += r.need.runs()
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
	case Whole, Rough:
		w = 2
	}
	if n.Worker == Whole {
		w++
	}
	return w
}

func (n Need) runs() int { return max(1, n.Runs) }

func (p *place) take(part Part, n int) {
	switch part {
	case Share, Every:
		p.shares += n
	case Rough:
		p.rough += n
	case Whole:
		p.whole = n > 0
	}
}

// fits finds hubs for a need, if there is also enough of the worker.
func (p *Pool) fits(need Need) (hubs []int, ok bool) {
	if need.Worker != None && (p.worker.whole || p.worker.shares > 0 && need.Worker == Whole || p.kept(need)) {
		return nil, false
	}
	switch need.Hub {
	case Share:
		return p.roomiest(need.runs())
	case Rough, Whole:
		return p.lastOf(need.Hub)
	case Every:
		for i, h := range p.hubs {
			if h.whole || h.rough > 0 {
				return nil, false
			}
			hubs = append(hubs, i)
		}
	}
	return hubs, true
}

// kept reports whether the worker is kept for somebody who waits for all of it, and is harder to serve: shares that
// come one after the other would leave no moment for that.
func (p *Pool) kept(need Need) bool {
	return slices.ContainsFunc(p.waiting, func(r *request) bool {
		return r.need.Worker == Whole && r.need.weight() > need.weight()
	})
}

// roomiest is the hub with the fewest runs, where there is room for some more, or where nothing is. The last one is
// kept for those that cannot share.
func (p *Pool) roomiest(runs int) (hubs []int, ok bool) {
	best, last := -1, len(p.hubs)-1
	for i, h := range p.hubs {
		if h.whole || h.rough > 0 || h.shares > 0 && h.runs+runs > p.most || i == last && p.wanted(Rough, Whole, Every) {
			continue
		}
		if best < 0 || h.runs < p.hubs[best].runs {
			best = i
		}
	}
	return []int{best}, best >= 0
}

// lastOf is a hub for somebody who cannot share: the last one, and another where nobody wants a share of it.
func (p *Pool) lastOf(part Part) (hubs []int, ok bool) {
	last := len(p.hubs) - 1
	for i := last; i >= 0; i-- {
		h := p.hubs[i]
		room := h.rough == 0 || part == Rough && h.rough < p.most
		if h.shares == 0 && !h.whole && room && (i == last || !p.wanted(Share)) {
			return []int{i}, true
		}
	}
	return nil, false
}

func (p *Pool) wanted(parts ...Part) bool {
	return slices.ContainsFunc(p.waiting, func(r *request) bool { return slices.Contains(parts, r.need.Hub) })
}

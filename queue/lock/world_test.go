package lock_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"bflow.dev/bflow/queue/lock"
	"bflow.dev/bflow/queue/lock/history"
)

// world is a target, the hubs that use it, and everything that can go wrong between them. Time passes in steps; in each
// every actor does a little or nothing, by chance: a controller reads, looks and writes in different steps, so that
// everything may happen in between.
type world struct {
	rnd    *rand.Rand
	now    time.Time
	faults bool // whether things go wrong
	flaws  flaws
	lease  lock.Lease
	serial int // of versions
	hubs   []*hub
	events []history.Event
	wrong  []string
}

// flaws are what a wrong implementation would do: the checker must find them.
type flaws struct {
	noFence   bool // tasks do not compare fences
	hasty     bool // a holder is taken over though something of it is alive
	forgetful bool // a controller frees the Lease without a look at what was let start
}

// hub is a cluster with its queue: what it stores outlives its controller.
type hub struct {
	w     *world
	name  string
	skew  time.Duration
	quota int
	runs  []*run
	dirty []*run
	// The controller, and what it knows.
	up        bool
	lost      bool      // for good
	back      time.Time // when it starts again
	memory    *lock.Memory
	situation lock.Situation
	held      []lock.Request // claims of the last round
	at        phase
	seen      lock.Lease
	sent      time.Time
	alive     bool
	step      lock.Step
	next      lock.Lease
	// Ways to the target.
	linked, tasked bool
}

// phase is where a controller is in its look at the Lease.
type phase int

const (
	idle phase = iota
	haveRead
	haveLooked
	writing
)

type state int

const (
	absent    state = iota
	queued          // pending, without a reservation
	reserved        // the check judges it
	ready           // the check said yes
	confirmed       // the lock was asked again, and the patch is on its way
	started         // its tasks run
	over            // its tasks have ended
	released
)

type run struct {
	hub       *hub
	name, key string
	size      int
	comes     time.Time
	takes     time.Duration
	state     state
	away      time.Time // not before
	fence     int64
	checked   time.Time // when its task has compared the fence
	pods      bool      // something of it is alive on the target
	ends      time.Time
	overAt    time.Time
}

func (r *run) request() lock.Request {
	return lock.Request{Run: r.name, Key: r.key, Queued: r.comes.Add(r.hub.skew)}
}

const (
	acting       = 30 * time.Second // how long a task may take to change something after it has compared fences
	giveUp       = 10 * time.Minute // after which a run is released by force
	sentBackWait = time.Minute      // of a run that was sent back
)

func newWorld(seed uint64, f flaws) *world {
	w := &world{rnd: rand.New(rand.NewPCG(seed, 7)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), faults: true,
		flaws: f}
	for i := range 1 + w.rnd.IntN(3) { // one hub, two, and once in a while three
		h := &hub{w: w, name: string(rune('A' + i)), quota: 4 + w.rnd.IntN(5), up: true, linked: true, tasked: true}
		h.skew = time.Duration(w.rnd.IntN(241)-120) * time.Second
		h.memory = lock.NewMemory(h.name)
		for n := range 2 + w.rnd.IntN(5) {
			r := &run{hub: h, name: fmt.Sprintf("%s/%d", h.name, n), size: 1 + w.rnd.IntN(h.quota),
				takes: time.Duration(10+w.rnd.IntN(200)) * time.Second}
			r.comes = w.now.Add(time.Duration(w.rnd.IntN(300)) * time.Second)
			switch k := w.rnd.IntN(10); k {
			case 0:
			case 1:
				r.key, r.size = lock.Exclusive(r.name), h.quota
			default:
				r.key = string(rune('k' + k%3))
			}
			h.runs = append(h.runs, r)
		}
		slices.SortFunc(h.runs, func(a, b *run) int { return a.comes.Compare(b.comes) })
		w.hubs = append(w.hubs, h)
		w.tell(history.Event{Kind: history.Quota, Hub: h.name, Amounts: map[string]int64{"gpu": int64(h.quota)}})
	}
	return w
}

func (w *world) tell(e history.Event) {
	e.Time, e.Target = w.now, "lab"
	w.events = append(w.events, e)
}

func (w *world) chance(oneIn int) bool { return w.rnd.IntN(oneIn) == 0 }

// tick lets a moment pass, and everybody act.
func (w *world) tick() {
	w.now = w.now.Add(time.Duration(w.rnd.IntN(4000)) * time.Millisecond)
	first := w.rnd.IntN(len(w.hubs))
	for i := range w.hubs {
		h := w.hubs[(i+first)%len(w.hubs)]
		if w.faults {
			h.misfortune()
		}
		h.act()
	}
}

func (w *world) done() bool {
	for _, h := range w.hubs {
		for _, r := range h.runs {
			if !h.lost && (r.state != released || r.pods) {
				return false
			}
		}
	}
	return true
}

// heal ends all faults, but for hubs that never come back: their tasks end, and a person removes what they left.
func (w *world) heal() {
	w.faults = false
	for i, h := range w.hubs {
		h.linked, h.tasked = true, true
		switch {
		case h.up:
		case i > 0 && w.chance(2):
			h.lost = true
			for _, r := range h.runs {
				if r.state == over || r.state == released {
					r.clean()
				}
			}
		default:
			h.restart()
		}
	}
}

// misfortune crashes controllers and tasks and cuts lines.
func (h *hub) misfortune() {
	w := h.w
	if w.chance(150) {
		h.linked = !h.linked
	}
	if w.chance(250) {
		h.tasked = !h.tasked
	}
	if h.up && w.chance(120) {
		h.up, h.back = false, w.now.Add(time.Duration(w.rnd.IntN(500))*time.Second)
		for _, r := range h.runs {
			if r.state == confirmed { // the patch may have come through
				if r.state = ready; w.chance(2) {
					r.begin()
				}
			}
		}
	}
	if !h.up && !w.now.Before(h.back) {
		h.restart()
	}
}

// restart is a controller that knows only what is stored.
func (h *hub) restart() {
	h.up, h.at = true, idle
	h.memory, h.situation, h.held = lock.NewMemory(h.name), lock.Situation{}, nil
}

func (h *hub) act() {
	for _, r := range h.runs {
		if r.state == absent && !h.w.now.Before(r.comes) {
			r.state = queued
		}
		r.task()
	}
	if h.reserve(); !h.up {
		return
	}
	h.release()
	if h.w.chance(2) {
		h.check()
	}
	h.admit()
	h.keep()
}

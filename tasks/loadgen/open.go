package loadgen

import (
	"runtime"
	"sync"
	"time"

	"bflow.dev/bflow/tasks/loadgen/schedule"
	"bflow.dev/bflow/tasks/report"
)

// ahead is how many requests are made before their time, so that making one never delays its sending.
const ahead = 64

// runOpen sends by the schedule, whatever the server does.
func (d *driver) runOpen() {
	times, err := schedule.Open(d.plan, d.rate, d.seed)
	if err != nil {
		return // the plan was checked before the load began
	}
	g := &gate{driver: d, cap: d.plan.MaxInflight, drop: d.plan.OnFull == "drop"}
	jobs := make(chan job, ahead)
	go d.prepare(times, jobs)
	// The pacer keeps its thread, which sleeps in the kernel: the others keep their processor.
	runtime.LockOSThread()
	for j := range jobs {
		if !sleepUntil(d.anchor, time.Duration(j.intended), d.isStopped) || !d.claim() {
			break
		}
		g.admit(j)
	}
	runtime.UnlockOSThread()
	if d.plan.Duration > 0 && !d.exhausted.Load() && (d.plan.Requests == 0 || d.issued.Load() < int64(d.plan.Requests)) {
		d.wait(d.start + int64(d.plan.Duration))
	}
	g.requests.Wait()
	for range jobs { // let prepare end
	}
}

// prepare makes requests ahead of their time until the schedule or the conversations end.
func (d *driver) prepare(times schedule.Schedule, jobs chan<- job) {
	defer close(jobs)
	for {
		send, ok := times.Next()
		if !ok {
			return
		}
		c := d.session()
		if c == nil {
			return
		}
		select {
		case jobs <- job{session: c, prompt: c.Next(nil, nil), intended: d.start + send.At}:
		case <-d.stopped:
			return
		}
	}
}

// gate lets requests into flight up to a cap; what comes when it is full waits in order or is dropped.
type gate struct {
	*driver
	cap  int // 0 = none
	drop bool

	mu       sync.Mutex
	inFlight int
	queue    []job
	requests sync.WaitGroup
}

// admit takes a job whose time has come.
func (g *gate) admit(j job) {
	g.live.plan()
	g.mu.Lock()
	full := g.cap > 0 && g.inFlight >= g.cap
	if !full {
		g.inFlight++
		g.requests.Add(1)
	} else if !g.drop {
		g.queue = append(g.queue, j)
	}
	g.mu.Unlock()
	switch {
	case !full:
		go g.serve(j)
	case g.drop:
		g.giveUp(j, report.StatusDropped)
	}
}

// serve sends j and then what waits, until nothing does.
func (g *gate) serve(j job) {
	defer g.requests.Done()
	for {
		g.send(j)
		var ok bool
		if j, ok = g.next(); !ok {
			return
		}
		j.waited = g.now() - j.intended
	}
}

func (g *gate) next() (job, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		g.inFlight--
		return job{}, false
	}
	j := g.queue[0]
	g.queue = g.queue[1:]
	return j, true
}

// send puts one turn and arranges for the one after.
func (g *gate) send(j job) {
	if g.ctx.Err() != nil {
		g.giveUp(j, g.cutStatus())
		return
	}
	o := g.put(j, !j.prompt.Last)
	if !j.prompt.Last && o.Status == report.StatusOK && !g.isStopped() {
		next := job{session: j.session, prompt: j.session.Next(nil, o.Text), intended: g.after(o) + int64(g.think)}
		g.requests.Add(1)
		go func() {
			defer g.requests.Done()
			if g.wait(next.intended) && g.claim() {
				g.admit(next)
			}
		}()
	}
	g.recycle(o)
}

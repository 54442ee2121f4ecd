package loadgen

import (
	"sync"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/verdict"
)

// live counts what happens while it happens, for progress and stop rules.
type live struct {
	since time.Time
	rules *verdict.Stop // nil = none
	stop  func(rule string)

	mu      sync.Mutex
	counts  counts
	dueOpen int // sends that the schedule has called for
	seen    struct {
		at   time.Time
		done int
	}
}

// counts are the numbers of a stage so far.
type counts struct {
	Sent, Done, Errors, InFlight int
	firsts                       int           // answers that have begun, and ended well
	waits                        time.Duration // for their first tokens, from the send
}

// ttft is the mean TTFT in ms, 0 without one.
func (c counts) ttft() float64 {
	return float64(c.waits) / float64(max(c.firsts, 1)) / float64(time.Millisecond)
}

func (l *live) countDue() {
	l.mu.Lock()
	l.dueOpen++
	l.mu.Unlock()
}

func (l *live) planned() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dueOpen
}

func (l *live) countSent() {
	l.mu.Lock()
	l.counts.Sent++
	l.counts.InFlight++
	l.mu.Unlock()
}

func (l *live) countEnded(o *record.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts.InFlight--
	switch o.Status {
	case report.StatusOK:
		l.counts.Done++
		l.judge(false)
		if o.First >= 0 {
			l.counts.firsts++
			l.counts.waits += time.Duration(o.First - o.Send)
			l.rules.FirstToken(time.Since(l.since).Seconds(), float64(o.First-o.Send)/1e9)
		}
	case report.StatusCut, report.StatusCancelled:
	default:
		l.counts.Errors++
		l.judge(true)
	}
}

func (l *live) countDropped(status string) {
	if status != report.StatusDropped {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts.Errors++
	l.judge(true)
}

func (l *live) judge(failed bool) {
	if rule := l.rules.Ended(failed); rule != "" {
		l.stop(rule)
	}
}

// sample looks at the load once a second and returns the counts.
func (l *live) sample() counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rule := l.rules.InFlight(time.Since(l.since).Seconds(), float64(l.counts.InFlight)); rule != "" {
		l.stop(rule)
	}
	return l.counts
}

func (l *live) saturated() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rules.Saturated()
}

// rate returns the requests per second that ended well since it was asked last.
func (l *live) rate() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, from := time.Now(), l.seen.at
	if from.IsZero() {
		from = l.since
	}
	done := l.counts.Done - l.seen.done
	l.seen.at, l.seen.done = now, l.counts.Done
	return max(0, float64(done)/max(1e-3, now.Sub(from).Seconds()))
}

package loadgen

import (
	"container/heap"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// alarms wakes goroutines at their stamps, to about ten microseconds: timers of the runtime are up to a millisecond
// late, and one sleeping thread per goroutine would take the processors from those that read answers. One thread does
// it for all.
type alarms struct {
	anchor time.Time
	fd     int // eventfd that ends the sleep when an earlier alarm comes in

	mu     sync.Mutex
	queue  alarmQueue
	closed bool
	done   chan struct{}
}

type alarm struct {
	at   int64
	ring chan struct{}
}

// startAlarms starts the thread; close ends it.
func startAlarms(anchor time.Time) (*alarms, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("starting the clock of the load: %w", err)
	}
	a := &alarms{anchor: anchor, fd: fd, done: make(chan struct{})}
	go a.run()
	return a, nil
}

// at returns a channel that is closed at a stamp.
func (a *alarms) at(stamp int64) <-chan struct{} {
	ring := make(chan struct{})
	a.mu.Lock()
	heap.Push(&a.queue, alarm{stamp, ring})
	first := a.queue[0].ring == ring
	a.mu.Unlock()
	if first {
		a.nudge()
	}
	return ring
}

func (a *alarms) nudge() {
	one := binary.NativeEndian.AppendUint64(nil, 1)
	_, _ = unix.Write(a.fd, one) // full means that it is nudged already
}

func (a *alarms) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.nudge()
	<-a.done
}

func (a *alarms) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(a.done)
	defer unix.Close(a.fd)
	for {
		next, closed := a.ringDue()
		if closed {
			return
		}
		a.sleep(next)
	}
}

// ringDue rings every alarm that is due and returns the stamp of the next, -1 without one.
func (a *alarms) ringDue() (next int64, closed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.queue) > 0 {
		if a.queue[0].at > int64(time.Since(a.anchor)) {
			return a.queue[0].at, a.closed
		}
		close(heap.Pop(&a.queue).(alarm).ring)
	}
	return -1, a.closed
}

// sleep sleeps in the kernel until shortly before a stamp, or a nudge, and spins the rest.
func (a *alarms) sleep(until int64) {
	var limit *unix.Timespec
	if until >= 0 {
		left := time.Duration(until) - time.Since(a.anchor)
		if left <= spin {
			for int64(time.Since(a.anchor)) < until {
			}
			return
		}
		ts := unix.NsecToTimespec(int64(left - spin))
		limit = &ts
	}
	fds := []unix.PollFd{{Fd: int32(a.fd), Events: unix.POLLIN}}
	if n, err := unix.Ppoll(fds, limit, nil); err == nil && n > 0 {
		var count [8]byte
		_, _ = unix.Read(a.fd, count[:])
	}
}

// alarmQueue is a heap, the earliest first.
type alarmQueue []alarm

func (q alarmQueue) Len() int           { return len(q) }
func (q alarmQueue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q alarmQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *alarmQueue) Push(x any)        { *q = append(*q, x.(alarm)) }
func (q *alarmQueue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

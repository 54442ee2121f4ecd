//go:build !linux

package loop

import (
	"net"
	"time"
)

// timer waits without sockets: every stream is a relay, whose mail wakes it.
type timer struct{ woken chan struct{} }

func newPoller(time.Time) (poller, error) { return &timer{woken: make(chan struct{}, 1)}, nil }

func (t *timer) attach(net.Conn, Handler) (Stream, error) { return nil, nil }

func (t *timer) poll(ns int64) {
	if ns <= 0 {
		return
	}
	after := time.NewTimer(time.Duration(ns))
	defer after.Stop()
	select {
	case <-t.woken:
	case <-after.C:
	}
}

func (t *timer) handle(int64) bool { return false }

func (t *timer) wake() {
	select {
	case t.woken <- struct{}{}:
	default:
	}
}

func (t *timer) close() {}

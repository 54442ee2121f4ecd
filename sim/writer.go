package sim

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"unsafe"
)

// sender is where answers go.
type sender interface {
	send(b []byte) (blocked bool, err error) // never blocks
	wait()                                   // until nothing is left to send
}

// writer sends the bytes of a connection without ever blocking the caller: what the socket does not take at once is
// left to a goroutine.
type writer struct {
	nc  net.Conn
	raw syscall.RawConn // nil for connections without a socket
	try func(fd uintptr) bool

	mu      sync.Mutex
	idle    sync.Cond
	buf     []byte // what try sends
	sent    int    // by try
	errno   syscall.Errno
	backlog []byte
	busy    bool // a goroutine is sending
	failed  error
}

func newWriter(nc net.Conn) *writer {
	w := &writer{nc: nc}
	w.idle.L = &w.mu
	w.try = w.sendOnce
	if sc, ok := nc.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			w.raw = raw
		}
	}
	return w
}

// send hands b to the kernel. blocked tells that some of it has to wait until the client reads.
func (w *writer) send(b []byte) (blocked bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return false, w.failed
	}
	if !w.busy {
		if b, err = w.attempt(b); err != nil || len(b) == 0 {
			w.failed = err
			return false, err
		}
		w.busy = true
		go w.drain()
	}
	w.backlog = append(w.backlog, b...)
	return true, nil
}

// attempt sends what the socket takes at once and returns the rest.
func (w *writer) attempt(b []byte) ([]byte, error) {
	if w.raw == nil {
		return b, nil
	}
	w.buf, w.sent, w.errno = b, 0, 0
	err := w.raw.Write(w.try)
	w.buf = nil
	switch {
	case err != nil:
		return b, err
	case w.errno != 0 && w.errno != syscall.EAGAIN && w.errno != syscall.EINTR:
		return b, w.errno
	}
	return b[w.sent:], nil
}

// sendOnce makes one system call that cannot block, so it need not tell the scheduler, which costs as much as the
// call.
func (w *writer) sendOnce(fd uintptr) bool {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, fd, uintptr(unsafe.Pointer(unsafe.SliceData(w.buf))),
		uintptr(len(w.buf)), syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL, 0, 0)
	if w.errno = errno; errno == 0 {
		w.sent = int(n)
	}
	return true
}

// drain sends the backlog until there is none.
func (w *writer) drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.backlog) > 0 && w.failed == nil {
		b := w.backlog
		w.backlog = nil
		w.mu.Unlock()
		_, err := w.nc.Write(b)
		w.mu.Lock()
		w.failed = errors.Join(w.failed, err)
	}
	w.busy = false
	w.idle.Broadcast()
}

// wait returns when nothing is left to send.
func (w *writer) wait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.busy {
		w.idle.Wait()
	}
}

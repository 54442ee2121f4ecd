package loop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
	"unsafe"

	"bflow.dev/bflow/tasks/loadgen/stamp"

	"golang.org/x/sys/unix"
)

// epoll waits for sockets by epoll, level-triggered: one wait tells of many, and each is read by one call.
type epoll struct {
	anchor time.Time
	fd     int
	bell   int // eventfd that wakes it
	coarse bool
	keeper *stamp.Keeper // nil where the kernel gives no stamps: there are still those of the reader

	sockets []*socket // by descriptor
	events  [256]unix.EpollEvent
	next, n int // events that are not handled yet

	buf      []byte // one for all sockets: handlers keep nothing of it
	receiver stamp.Receiver
	wall     int64 // wall clock minus stamp, at the last poll

	polled int64 // when the last poll ended
	before int64 // when the one before it ended: what only the last lists had nothing to read then

	careful int64 // until then it is asked whether the loop was away
	used    int64 // processor time of the thread at the last poll, ns; 0 = not asked
	away    bool  // before the last poll: sockets are read by segment
}

// batch is how many ready sockets are handled at least, however late the loop is: those who wait to send must not
// starve those who receive.
const batch = 32

func newPoller(anchor time.Time) (poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("creating an epoll set: %w", err)
	}
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("creating an eventfd: %w", err), unix.Close(fd))
	}
	e := &epoll{anchor: anchor, fd: fd, bell: bell, buf: make([]byte, 256<<10)}
	if err := e.watch(bell, unix.EPOLL_CTL_ADD, unix.EPOLLIN); err != nil {
		return nil, errors.Join(err, unix.Close(bell), unix.Close(fd))
	}
	e.keeper, _ = stamp.Keep()
	return e, nil
}

func (e *epoll) watch(fd, op int, events uint32) error {
	ev := unix.EpollEvent{Events: events, Fd: int32(fd)}
	if err := unix.EpollCtl(e.fd, op, fd, &ev); err != nil {
		return fmt.Errorf("watching a socket: %w", err)
	}
	return nil
}

func (e *epoll) wake() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(e.bell, one[:]) // full: it rings already
}

func (e *epoll) close() {
	e.keeper.Close()
	_ = unix.Close(e.bell)
	_ = unix.Close(e.fd)
}

// attach takes over the descriptor of a plain TCP or Unix connection: a duplicate, so that the runtime's own poller
// forgets it and does not wake for it as well.
func (e *epoll) attach(conn net.Conn, h Handler) (Stream, error) {
	plain, ok := conn.(syscall.Conn)
	if _, tcp := conn.(*net.TCPConn); !tcp {
		if _, local := conn.(*net.UnixConn); !local || !ok {
			return nil, nil
		}
	}
	raw, err := plain.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("taking over a connection: %w", err)
	}
	fd, dupErr := -1, error(nil)
	err = raw.Control(func(old uintptr) { fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, dupErr, conn.Close()); err == nil {
		err = e.watch(fd, unix.EPOLL_CTL_ADD, unix.EPOLLIN)
	}
	if err != nil {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
		return nil, fmt.Errorf("taking over a connection: %w", err)
	}
	_ = stamp.Ask(fd) // without stamps of the kernel there are still those of the reader
	s := &socket{epoll: e, fd: fd, handler: h}
	for len(e.sockets) <= fd {
		e.sockets = append(e.sockets, nil)
	}
	e.sockets[fd] = s
	return s, nil
}

func (e *epoll) poll(ns int64) {
	if e.n < len(e.events) { // else there may have been more
		e.before = e.polled
	}
	n := 0
	var errno syscall.Errno
	if ns <= 0 {
		// Not through the scheduler: it returns at once.
		r, _, en := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(e.fd), uintptr(unsafe.Pointer(&e.events[0])),
			uintptr(len(e.events)), 0, 0, 0)
		n, errno = int(r), en
	} else {
		n, errno = e.sleep(ns)
	}
	e.next, e.n = 0, 0
	if errno != 0 {
		return // a signal; the caller looks again
	}
	e.n = n
	now := time.Now()
	last := e.polled
	e.polled = int64(now.Sub(e.anchor))
	e.wall = now.UnixNano() - e.polled
	e.detectPause(last)
}

// detectPause finds out whether the thread slept, or waited for a processor, since the poll that ended at last. Peeking
// would only delay a loop further that is late because of its own work.
func (e *epoll) detectPause(last int64) {
	if e.away = false; e.polled >= e.careful {
		e.used = 0
		return
	}
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return
	}
	used := ts.Nano()
	e.away = e.used > 0 && e.polled-last-(used-e.used) > int64(stamp.Late)
	e.used = used
}

// sleep waits with a timeout in nanoseconds; kernels before 5.11 know milliseconds only, of which none may be too many.
func (e *epoll) sleep(ns int64) (int, syscall.Errno) {
	if !e.coarse {
		ts := unix.NsecToTimespec(ns)
		r, _, errno := syscall.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(e.fd), uintptr(unsafe.Pointer(&e.events[0])),
			uintptr(len(e.events)), uintptr(unsafe.Pointer(&ts)), 0, 0)
		if errno != unix.ENOSYS && errno != unix.EPERM {
			return int(r), errno
		}
		e.coarse = true
	}
	r, _, errno := syscall.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(e.fd), uintptr(unsafe.Pointer(&e.events[0])),
		uintptr(len(e.events)), uintptr(ns/1e6), 0, 0)
	return int(r), errno
}

func (e *epoll) handle(until int64) bool {
	if e.next == e.n {
		return false
	}
	for handled := 1; e.next < e.n; handled++ {
		ev := &e.events[e.next]
		e.next++
		if int(ev.Fd) == e.bell {
			var rung [8]byte
			_, _ = unix.Read(e.bell, rung[:])
			continue
		}
		if s := e.sockets[ev.Fd]; s != nil {
			now := s.ready(ev.Events)
			if handled >= batch && now >= until {
				break
			}
		}
	}
	return true
}

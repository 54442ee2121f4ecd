package loop

import (
	"io"
	"syscall"
	"time"
	"unsafe"

	"bflow.dev/bflow/tasks/loadgen/stamp"

	"golang.org/x/sys/unix"
)

// socket is a plain TCP or Unix connection on an epoll set.
type socket struct {
	*epoll
	fd      int
	handler Handler
	rest    []byte // of a Write that the kernel has not taken yet
	waits   bool   // for room in the kernel
}

// ready handles what epoll saw and returns a stamp taken on the way.
func (s *socket) ready(events uint32) int64 {
	if events&unix.EPOLLOUT != 0 && s.waits { // else it was meant for a socket that had this descriptor before
		s.flush()
	}
	if events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR|unix.EPOLLRDHUP) != 0 && s.fd >= 0 {
		return s.receive()
	}
	return s.now()
}

func (s *socket) now() int64 { return int64(time.Since(s.anchor)) }

// mostSegments bounds how many are read at one go: a server that sends tiny ones must not hold the loop.
const mostSegments = 64

// receive reads once, or, where the loop was away, segment by segment. What is left is seen at the next poll, because
// the set is level-triggered.
func (s *socket) receive() int64 {
	if !s.away {
		return s.take(s.buf)
	}
	for range mostSegments {
		n, more, errno := s.receiver.Segment(s.fd, s.buf, s.now()+s.wall)
		if errno != 0 {
			s.fail(errno)
			break
		}
		at := s.take(s.buf[:n])
		if !more || s.fd < 0 {
			return at
		}
	}
	return s.now()
}

// take reads into p, and returns when.
func (s *socket) take(p []byte) int64 {
	n, errno := s.receiver.Receive(s.fd, p, 0)
	user := s.now()
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
	case errno != 0:
		s.fail(errno)
	case n == 0:
		s.fail(io.EOF)
	default:
		kernel := s.stamp(user)
		if kernel > 0 && user-kernel > int64(stamp.Late) {
			s.careful = user + int64(stamp.Watchful)
		}
		s.handler.HandleData(p[:n], Stamps{User: user, Kernel: kernel, After: s.before})
	}
	return user
}

// stamp returns when the kernel received the bytes that were just read, 0 where it did not say.
func (e *epoll) stamp(user int64) int64 {
	wall := e.receiver.Wall()
	if at := wall - e.wall; wall != 0 && stamp.Plausible(at, user) {
		return at
	}
	return 0
}

// Write implements Stream.
func (s *socket) Write(p []byte) {
	if s.fd < 0 {
		return
	}
	s.rest = p
	s.flush()
}

// flush gives the kernel what it takes, and asks to be called again for the rest.
func (s *socket) flush() {
	for len(s.rest) > 0 {
		n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(s.fd), uintptr(unsafe.Pointer(&s.rest[0])),
			uintptr(len(s.rest)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
		switch {
		case errno == unix.EINTR:
		case errno == unix.EAGAIN:
			s.full(true)
			return
		case errno != 0:
			// What the server said before it broke off is read first: the next poll tells of it, and of the end.
			s.rest = nil
			s.full(false)
			return
		default:
			s.rest = s.rest[n:]
		}
	}
	s.rest = nil
	s.full(false)
	s.handler.HandleSent(s.now())
}

// full says whether the kernel takes nothing more for now.
func (s *socket) full(yes bool) {
	if s.waits == yes {
		return
	}
	s.waits = yes
	events := uint32(unix.EPOLLIN)
	if yes {
		events |= unix.EPOLLOUT
	}
	_ = s.watch(s.fd, unix.EPOLL_CTL_MOD, events) // a socket that is gone is told of by the next poll
}

// fail tells the handler that nothing more comes.
func (s *socket) fail(err error) {
	if s.fd >= 0 {
		s.Close()
		s.handler.HandleClosed(err)
	}
}

// Close implements Stream.
func (s *socket) Close() {
	if s.fd < 0 {
		return
	}
	s.sockets[s.fd] = nil
	_ = unix.Close(s.fd) // leaves the epoll set with it
	s.fd, s.rest = -1, nil
}

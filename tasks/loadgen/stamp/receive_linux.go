package stamp

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// room is how many bytes of control messages a read needs to hold a stamp.
const room = 64

// Receiver reads sockets, and tells of each read when the kernel received the last byte of it.
//
// The receive queue of a socket holds segments, each with a stamp. A read takes all of them and returns the stamp of
// the last. A reader that was late therefore peeks first, and reads segments with different stamps one by one. The
// kernel merges queued segments, and keeps the stamp of the last, unless their sender shares them: on one machine,
// until they are acknowledged (skb_try_coalesce of net/core/skbuff.c).
type Receiver struct {
	control [room]byte
	vec     unix.Iovec
	msg     unix.Msghdr
	size    int // of the segment that was last told apart
}

// A reader that was late by more than Late peeks before it reads, for as long as Watchful.
const (
	Late     = 200 * time.Microsecond
	Watchful = 10 * time.Second
)

// prompt is the age in ns up to which queued bytes are read after a peek at the first alone; far is how many bytes are
// peeked at.
const (
	prompt = 50e3
	far    = 16 << 10
)

// Receive reads into p, which is not empty, without waiting. Flags are those of recvmsg(2).
func (r *Receiver) Receive(fd int, p []byte, flags int) (int, syscall.Errno) {
	r.vec.Base = &p[0]
	r.vec.SetLen(len(p))
	r.msg = unix.Msghdr{Iov: &r.vec, Control: &r.control[0]}
	r.msg.SetIovlen(1)
	r.msg.SetControllen(len(r.control))
	n, _, errno := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&r.msg)),
		uintptr(unix.MSG_DONTWAIT|flags))
	return int(n), errno
}

// Wall is the stamp of what Receive has read last, by the wall clock in ns; 0 where there is none.
func (r *Receiver) Wall() int64 { return of(r.control[:min(int(r.msg.Controllen), len(r.control))]) }

// Segment peeks at the receive queue of fd and returns how many of its first bytes to read so that all have one stamp,
// at most len(p), and whether there are more behind them. wall is the time now, in ns of the wall clock. It writes into
// p. errno is the pending error of the socket, which the peek has cleared: the caller takes it as the result of its
// read.
func (r *Receiver) Segment(fd int, p []byte, wall int64) (n int, more bool, errno syscall.Errno) {
	first, errno := r.peek(fd, p[:1])
	if errno != 0 || first.wall == 0 || wall-first.wall <= prompt {
		return len(p), false, errno
	}
	p = p[:min(len(p), far)]
	all, _ := r.peek(fd, p) // there is something: an error comes after it
	if all.n <= 0 || all.wall == first.wall {
		return max(1, all.n), all.n == len(p), 0
	}
	have, beyond := 1, all.n
	for guess := r.size; have+1 < beyond; guess = 0 {
		if guess <= have || guess >= beyond {
			guess = have + (beyond-have)/2
		}
		if at, _ := r.peek(fd, p[:guess]); at.wall != first.wall {
			beyond = guess
			continue
		}
		have = guess + 1
		if at, _ := r.peek(fd, p[:have]); at.wall != first.wall { // it is as long as the one before it
			have, beyond = guess, guess+1
		}
	}
	r.size = have
	return have, true, 0
}

// peeked is the answer of a peek: how many bytes there are, and the stamp of the last of them.
type peeked struct {
	n    int
	wall int64
}

func (r *Receiver) peek(fd int, p []byte) (peeked, syscall.Errno) {
	n, errno := r.Receive(fd, p, unix.MSG_PEEK)
	if errno == unix.EAGAIN || errno == unix.EINTR {
		errno = 0
	}
	if errno != 0 || n <= 0 {
		return peeked{}, errno
	}
	return peeked{n, r.Wall()}, 0
}

package sim

import (
	"encoding/binary"
	"io"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bflow.dev/bflow/sim/pace"
)

// maxStampAge bounds how long before our read a kernel stamp can be; beyond it the wall clock was set.
const maxStampAge = 10 * time.Second

// receiver reads a connection and keeps when the kernel received the last segment of each read.
type receiver struct {
	nc  net.Conn
	raw syscall.RawConn // nil without stamps: plain reads
	try func(fd uintptr) bool

	buf  []byte // where try reads to
	oob  [128]byte
	n    int
	oobn int
	err  error
	iov  unix.Iovec
	msg  unix.Msghdr

	clock   pace.Clock
	arrival int64 // of the last read's data in the kernel, monotonic; without a stamp the same as read
	read    int64 // when the last read had its data, monotonic
}

func newReceiver(nc net.Conn, clock pace.Clock) *receiver {
	r := &receiver{nc: nc, clock: clock}
	r.try = r.receiveOnce
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return r
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return r
	}
	_ = raw.Control(func(fd uintptr) {
		if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) == nil {
			r.raw = raw
		}
	})
	return r
}

// Read implements io.Reader.
func (r *receiver) Read(p []byte) (int, error) {
	if r.raw == nil || len(p) == 0 {
		n, err := r.nc.Read(p)
		r.read = r.clock.Now()
		r.arrival = r.read
		return n, err
	}
	r.buf = p
	err := r.raw.Read(r.try)
	r.buf = nil
	switch {
	case err != nil:
		return 0, err
	case r.err != nil:
		return 0, r.err
	case r.n == 0:
		return 0, io.EOF
	}
	now := time.Now() // one moment for both: between two this thread may lose its processor
	r.read = r.clock.At(now)
	r.arrival = r.read - int64(r.stampAge(now))
	return r.n, nil
}

// receiveOnce makes one system call; false means that there is nothing to read yet. The call cannot block, so it need
// not tell the scheduler.
func (r *receiver) receiveOnce(fd uintptr) bool {
	r.iov.Base = unsafe.SliceData(r.buf)
	r.iov.SetLen(len(r.buf))
	r.msg = unix.Msghdr{Iov: &r.iov, Iovlen: 1, Control: &r.oob[0]}
	r.msg.SetControllen(len(r.oob))
	n, _, errno := syscall.RawSyscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.msg)), unix.MSG_DONTWAIT)
	r.n, r.oobn, r.err = int(n), int(r.msg.Controllen), nil
	if errno != 0 {
		r.n, r.err = 0, errno
	}
	return errno != unix.EAGAIN && errno != unix.EINTR
}

// stampAge returns how long before now the kernel received what was read, by the stamp in the control message.
// Both are wall times read just now, so that a wall clock set earlier does not matter.
func (r *receiver) stampAge(now time.Time) time.Duration {
	const head = unix.SizeofCmsghdr
	if r.oobn < head+int(unsafe.Sizeof(unix.Timespec{})) {
		return 0
	}
	// level and type follow the length, which is 8 bytes on the 64-bit systems we build for
	if binary.NativeEndian.Uint32(r.oob[8:]) != unix.SOL_SOCKET ||
		binary.NativeEndian.Uint32(r.oob[12:]) != unix.SCM_TIMESTAMPNS {
		return 0
	}
	sec := int64(binary.NativeEndian.Uint64(r.oob[head:]))
	nsec := int64(binary.NativeEndian.Uint64(r.oob[head+8:]))
	if age := now.Sub(time.Unix(sec, nsec)); age > 0 && age < maxStampAge {
		return age
	}
	return 0
}

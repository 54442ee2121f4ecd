package stamp

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ask makes the kernel stamp what a socket receives.
func Ask(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING,
		unix.SOF_TIMESTAMPING_RX_SOFTWARE|unix.SOF_TIMESTAMPING_SOFTWARE)
}

// of returns the stamp in the control messages of a read, as the wall clock in ns; 0 where there is none.
func of(control []byte) int64 {
	const head = unix.SizeofCmsghdr
	if len(control) < head+int(unsafe.Sizeof(unix.Timespec{})) {
		return 0
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
	if h.Level != unix.SOL_SOCKET || h.Type != unix.SO_TIMESTAMPING {
		return 0
	}
	ts := (*unix.Timespec)(unsafe.Pointer(&control[head]))
	if ts.Sec == 0 {
		return 0
	}
	return ts.Nano()
}

// Plausible says whether a stamp of the kernel, taken by the wall clock, can be that of what was read at user: one
// after the reading or more than an hour before it is that of a clock that was set.
func Plausible(at, user int64) bool { return at <= user && user-at <= int64(time.Hour) }

// reader reads with control messages.
type reader struct {
	raw     syscall.RawConn
	socket  Receiver
	careful time.Time // until then it looks before it reads
	into    []byte
	n       int
	errno   syscall.Errno
	receive func(fd uintptr) bool // made once, so that a read leaves no garbage
}

// On returns conn with stamps where it is a TCP connection whose kernel gives them, else conn.
func On(conn net.Conn) net.Conn {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return conn
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return conn
	}
	asked := raw.Control(func(fd uintptr) { err = Ask(int(fd)) })
	if errors.Join(asked, err) != nil {
		return conn
	}
	c := &Conn{Conn: conn, base: time.Now()}
	c.raw = raw
	c.receive = c.recvmsg
	return c
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.into = p
	err := c.raw.Read(c.receive)
	c.into = nil
	switch {
	case err != nil: // closed, or out of time
		return 0, err
	case c.errno != 0:
		return 0, &net.OpError{
			Op: "read", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(),
			Err: os.NewSyscallError("recvmsg", c.errno),
		}
	case c.n == 0:
		return 0, io.EOF
	}
	return c.n, nil
}

// recvmsg reads once; false where there is nothing yet.
func (c *Conn) recvmsg(fd uintptr) bool {
	p := c.into
	if !c.careful.IsZero() {
		var n int
		if n, c.errno = c.segment(int(fd)); c.errno != 0 {
			return true
		}
		p = p[:n]
	}
	for {
		n, errno := c.socket.Receive(int(fd), p, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno == unix.EAGAIN {
			return false
		}
		c.n, c.errno = n, errno
		if errno == 0 && n > 0 {
			c.stamped()
		}
		return true
	}
}

// segment returns how much of what waits is to be read at one go.
func (c *Conn) segment(fd int) (int, syscall.Errno) {
	now := time.Now()
	if now.After(c.careful) {
		c.careful = time.Time{}
		return len(c.into), 0
	}
	n, _, errno := c.socket.Segment(fd, c.into, now.UnixNano())
	return n, errno
}

// stamped keeps the stamp of what was just read. The kernel's clock is the wall clock.
func (c *Conn) stamped() {
	now := time.Now()
	user, wall := int64(now.Sub(c.base)), now.UnixNano()
	at := c.socket.Wall()
	if at == 0 || !Plausible(at, wall) {
		c.came.Store(0)
		return
	}
	if wall-at > int64(Late) {
		c.careful = now.Add(Watchful)
	}
	c.came.Store(max(1, user-(wall-at)))
}

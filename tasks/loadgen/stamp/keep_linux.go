package stamp

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Keeper keeps the kernel's receive stamps enabled until it is closed. The kernel enables them when the first socket
// asks, but asynchronously (net_enable_timestamp of net/core/dev.c): a packet that comes earlier has no stamp, or, with
// SO_TIMESTAMPNS, the time at which it was read (__sock_recv_timestamp of net/socket.c).
type Keeper struct{ fd int }

// enableTimeout bounds the wait for stamps; on a busy host they take some milliseconds.
const enableTimeout = 250 * time.Millisecond

// Keep enables receive stamps and returns once packets have them; an error where they never do.
func Keep() (*Keeper, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening a socket for stamps: %w", err)
	}
	k := &Keeper{fd: fd}
	if err = Ask(fd); err == nil {
		err = k.toItself()
	}
	if err == nil {
		err = k.await()
	}
	if err != nil {
		k.Close()
		return nil, fmt.Errorf("waiting for stamps of the kernel: %w", err)
	}
	return k, nil
}

// toItself lets the socket receive what it sends.
func (k *Keeper) toItself() error {
	if err := unix.Bind(k.fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	own, err := unix.Getsockname(k.fd)
	if err != nil {
		return err
	}
	return unix.Connect(k.fd, own)
}

// await sends until something was stamped before it was read.
func (k *Keeper) await() error {
	var (
		r   Receiver
		buf [1]byte
		due = true
	)
	for begin := time.Now(); ; {
		if due {
			if _, err := unix.Write(k.fd, buf[:]); err != nil {
				return err
			}
		}
		now := time.Now()
		_, errno := r.Receive(k.fd, buf[:], 0)
		due = errno == 0
		switch {
		case due && r.Wall() != 0 && r.Wall() <= now.UnixNano():
			return nil
		case !due && errno != unix.EAGAIN && errno != unix.EINTR:
			return errno
		case now.Sub(begin) > enableTimeout:
			return fmt.Errorf("none within %v", enableTimeout)
		}
		runtime.Gosched()
	}
}

// Close gives the stamps up; the kernel disables them when no other socket asks. A nil Keeper may be closed.
func (k *Keeper) Close() {
	if k != nil {
		_ = unix.Close(k.fd)
	}
}

package stamp

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Keeper has the kernel stamp what arrives until it is closed. Without one the kernel stamps while any socket asks for it, and
// begins a moment after the first did (net_enable_timestamp of net/core/dev.c): what comes before has no stamp, or that of its
// reading (__sock_recv_timestamp of net/socket.c).
type Keeper struct{ fd int }

// patience bounds the wait for the kernel to begin, which takes a few milliseconds where processors are busy.
const patience = 250 * time.Millisecond

// Keep returns once the kernel stamps what arrives; an error where it does not.
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
		case now.Sub(begin) > patience:
			return fmt.Errorf("none within %v", patience)
		}
		runtime.Gosched()
	}
}

// Close lets the kernel stop, where nobody else asks.
func (k *Keeper) Close() {
	if k != nil {
		_ = unix.Close(k.fd)
	}
}

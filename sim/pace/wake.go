package pace

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// alarm is a sleep with a nanosecond timeout that another thread can end.
type alarm struct{ fd int }

func newAlarm() (alarm, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return alarm{}, fmt.Errorf("opening eventfd of the pacer: %w", err)
	}
	return alarm{fd: fd}, nil
}

// ring ends the current or the next sleep.
func (a alarm) ring() {
	one := [8]byte{0: 1}
	_, _ = unix.Write(a.fd, one[:]) // a full counter has been rung already
}

// sleep returns after ns nanoseconds, or when the alarm rings; a negative ns sleeps until it rings.
func (a alarm) sleep(ns int64) {
	fds := []unix.PollFd{{Fd: int32(a.fd), Events: unix.POLLIN}}
	var timeout *unix.Timespec
	if ns >= 0 {
		t := unix.NsecToTimespec(ns)
		timeout = &t
	}
	n, err := unix.Ppoll(fds, timeout, nil)
	if err != nil && !errors.Is(err, unix.EINTR) {
		runtime.Gosched()
		return
	}
	if n > 0 {
		var count [8]byte
		_, _ = unix.Read(a.fd, count[:])
	}
}

func (a alarm) close() { _ = unix.Close(a.fd) }

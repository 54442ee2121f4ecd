package stamp

import (
	"testing"

	"golang.org/x/sys/unix"
)

// readable says whether the kernel has bytes for c that nobody has read.
func readable(t *testing.T, c *Conn) (yes bool) {
	t.Helper()
	err := c.raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		yes = err == nil && n == 1
	})
	if err != nil {
		t.Fatal(err)
	}
	return yes
}

package loop

import "golang.org/x/sys/unix"

func setHandler(s Stream, h Handler) { s.(*socket).handler = h }

// readable says whether the kernel has bytes for s that nobody has read.
func readable(s Stream) bool {
	fds := []unix.PollFd{{Fd: int32(s.(*socket).fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1
}

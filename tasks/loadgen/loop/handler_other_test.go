//go:build !linux

package loop

func setHandler(s Stream, h Handler) { s.(*relay).handler = h }

// readable says whether a reader has handed bytes to the loop of s.
func readable(s Stream) bool { return s.(*relay).loop.some.Load() }

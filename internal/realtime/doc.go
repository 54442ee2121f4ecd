// Package realtime makes one thread of a process prompt, as far as a program without privileges may: what must happen on
// time happens there. It must not know what that is.
package realtime

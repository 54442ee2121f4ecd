// Package lock decides which setup key may be in use on a target: the shared platform state (a gateway, the version
// of an operator) that runs need there. One Lease per target names the hub and the key. Runs of that hub with that
// key go in parallel; all others wait until the last of them is released, also those of other hubs.
//
// The package is arithmetic: it opens no socket, starts nothing and reads no clock, so that a test can try it with
// thousands of random histories. Package keeper applies its decisions.
//
// Two clocks are never compared. A hub believes in its own hold until RenewDeadline after it sent the last write that
// was taken; another hub takes the Lease over when it has itself seen no renewal for LeaseDuration, which is longer,
// and lets its runs start only when it has then seen nothing of the old holder alive for LeaseDuration again. A task
// that was about to change the platform finds another fence there, and leaves it alone; what it had begun before
// shows as a pod by then.
package lock

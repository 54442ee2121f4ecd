// Package lock decides which setup key may be in use on a target: the shared platform state (a gateway, the version
// of an operator) that runs need there. One Lease per target names the hub and the key. Runs of that hub with that
// key run in parallel; all others, including those of other hubs, wait until the last of them is released.
//
// The package is arithmetic: it opens no socket, starts nothing and reads no clock, so that a test can try it with
// thousands of random histories. Package keeper applies its decisions.
//
// Clocks of different machines are never compared. A hub relies on its own lock until Deadline after it sent the last
// successful write. Another hub takes over the Lease after it has observed no renewal for Duration, which is longer,
// and starts runs only after it has then observed no live pod of the old holder for Duration again. A task that is
// about to change the platform finds another fence and stops; what it had started before is visible as a pod by then.
package lock

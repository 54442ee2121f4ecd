// Package soak plans random faults for a hub and a worker, and checks the recorded watch events of both: devices are
// never oversubscribed, nothing starts twice, no quota is released too early, and nothing is left after a release
// unless the target is marked. Both are functions of a seed and of recorded events: it connects to no cluster and
// reads no clock.
package soak

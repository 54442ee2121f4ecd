// Package soak plans random trouble for a hub and a worker, and judges what the watches of both have told meanwhile: never
// more devices asked for than there are, nothing started twice, no quota given back too early, nothing there after a
// release that is not marked. Both are functions of a seed and of recorded events: it speaks to no cluster and reads no
// clock.
package soak

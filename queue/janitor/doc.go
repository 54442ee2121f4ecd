// Package janitor finds and deletes what is on targets though no run of this hub can need it any more: of runs that nobody
// knows, and of runs that were released a while ago. It touches nothing of other hubs, nothing of a run that lives, and
// nothing that is so young that its run may not be seen yet.
//
// What ends runs is package release; a janitor finds what that has missed, because it was killed, was cut off, or had to
// give up. It asks of a target, in each namespace of runs: the kinds of package leftover, list and delete.
package janitor

// Package janitor finds and deletes orphaned objects on targets: those of runs that do not exist, and of runs that
// were released a while ago. It touches nothing of other hubs, nothing of a live run, and nothing so young that the
// cache may not contain its run yet.
//
// Package release cleans up after runs; the janitor finds what it missed because it was killed, was disconnected, or
// had to give up. Permissions that it needs on a target, in each namespace of runs: list and delete for the kinds of
// package leftover.
package janitor

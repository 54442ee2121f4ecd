// Package gc is the garbage collection of what runs leave on targets: the one list of kinds that may be there, the
// labels by which an object is known to be a run's of this hub, and what deletes objects that no run of this hub can
// need any more: of runs that do not exist, and of runs that were released a while ago. It touches nothing of other
// hubs, nothing of a run that lives, and nothing that is so young that its run may not be in the cache yet.
//
// Package release ends runs, and deletes what they made. The collector finds what that has missed, because it was
// killed, was cut off, or had to give up; bflow janitor does the same with the rights of a person. It asks of a
// target, in each namespace of runs: Kinds, list and delete.
package gc

// Package placement decides where runs go, and what becomes of those that fit nowhere.
//
// A run that may go to several targets is put into the queue of one: where what it needs is warm, else where the
// fewest wait. The choice is made again when that target does not answer for long, and a target that is idle takes a
// run that waits elsewhere.
//
// A run that its target cannot hold has its Workload deactivated: a queue lets nobody pass its first, so that one
// which can never start would stop all behind it. Such a run keeps its place, and takes it again when there is
// enough.
//
// A run whose task pods are unschedulable is ended. Tekton lets a task wait for as long as it may run, which for a
// load of two hours is two hours, and the devices of the run wait with it.
//
// The package must not touch the queue of a run that holds quota, nor judge what runs hold: every run ends, and a
// queue is there to wait for that. It must not judge the server under test either: provision does that.
package placement

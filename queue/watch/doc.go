// Package watch says what the controllers watch, and when they act on it: only namespaces of runs, changes that come
// together at once, what fails again after a backoff, and what not every run needs from a cache of its own.
//
// Namespaces of runs carry a label. What lies in another one concerns nobody here, whatever its labels say: nothing
// there is held to the rules of runs, so anybody may claim there to be a run that was admitted. The package must not
// know what a change means, nor decide anything about runs.
package watch

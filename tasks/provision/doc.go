// Package provision brings the server under test up, says when the right model answers, and takes it away again.
// It must not measure, and it must not know the experiment file.
//
// Subcommands: up (until ready), release (last scrape, then teardown), down (teardown, bounded, never fails the run),
// exec (a task of the run as a Job on the target, see package away),
// hold (the supervisor that up leaves behind: it ties the engine's life to that of the run).
package provision

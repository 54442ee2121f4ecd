// Package provision starts the server under test, checks that the right model answers, and removes the server again.
// It must not measure, and it must not know the experiment file.
//
// Subcommands: up (until ready), release (last scrape, then teardown), down (teardown, bounded, never fails the run),
// exec (a task of the run as a Job on the target, see package away), hold (the supervisor that up leaves running: it
// ties the life of the engine to that of the run).
package provision

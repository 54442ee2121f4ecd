// Package powerloss simulates a power failure at every moment of a local run: it records once what a run writes,
// renames and syncs, constructs every state in which a crash can leave the disk, and lets the readers that resume
// uses judge each state. Some runs are resumed to their end. Whatever POSIX does not guarantee is lost: data without
// fsync, and names in folders without fsync, in any order and partially.
package powerloss

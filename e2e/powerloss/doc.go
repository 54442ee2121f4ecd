// Package powerloss takes the power away from a local run at every moment, on paper: it records once what a run writes,
// renames and brings to disk, builds every state in which a crash could have left the disk, and lets the readers that
// resume uses judge each. Some are resumed whole. What POSIX does not promise is lost: data that nobody synced, and
// names whose folder nobody synced, in any order and by halves.
package powerloss

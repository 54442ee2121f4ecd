// Package ends holds the one table of how a run can end: the word of its verdict, its exit code and what is said about
// it, for a run of this machine, the points of a matrix, an import, and verbs that look at a run that has ended. What a
// fault of the server does to a run in detail is e2e/faults'.
package ends

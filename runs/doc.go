// Package runs is the life of runs as a person at a command line sees it: found by their names, listed, shown,
// followed, cancelled, run again, deleted. Interface Run is what every kind of run can do, and interface Kind how runs
// of a kind are found. The kinds themselves lie in packages below; this one must know none of them, and no flags.
package runs

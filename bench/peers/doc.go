// Command peers runs the same load against the same simulated engine with load-gen and with the load tools of other
// projects, and prints a table: goal, load-gen, each other tool, ratio, and the leader. The log of the engine is the
// ground truth. It exits with 1 if another tool leads on any line.
//
// It must not compute statistics (bench/truth) or start engines directly (bench/rig). It must not interpret the
// numbers of a tool generously: a value that the tool does not report is absent.
package main

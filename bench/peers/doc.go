// Command peers puts the same load on the same simulated engine with load-gen and with the load tools of other projects,
// and prints a table: goal, ours, each of the others, ratio, and who is ahead. The truth is what the engine logged. It
// exits with 1 when another tool is ahead on a line.
//
// It must not hold statistics (bench/truth) nor start engines by itself (bench/rig), and it must not read a tool's
// numbers more kindly than they are: what a tool does not say is absent.
package main

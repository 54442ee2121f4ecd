// Command goals measures load-gen against the goals G1 to G16 on this machine and prints a table: goal, target,
// figure, worst, ratio to the floor client, verdict. Engine and client each have their own core; a figure is void if
// the engine itself was late. It must not compute statistics (bench/truth) or start processes directly (bench/rig).
package main

// Command goals measures load-gen against the goals G1 to G16 on this machine and prints a table: goal, target, figure,
// worst, ratio to the floor client, verdict. Engine and client have a core each; a figure taken while the engine itself
// was late is void. It must not hold statistics (bench/truth) nor start processes by itself (bench/rig).
package main

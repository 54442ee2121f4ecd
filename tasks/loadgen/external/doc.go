// Package external runs an original load tool instead of load-gen and converts its results to a measurement directory.
//
// What the process is (Build), and how its results become numbers, is said by the package of the tool, below load/tool.
// Everything here is one child process and its files.
package external

// Package assemble makes the report of a run from the files in its directory: it reads what the measurements left,
// pools samples, compares with what the engine counted and judges. It asks nobody and writes nothing, so that the same
// report can be made again, and is light enough for load-gen.
package assemble

// Package assemble builds the report of a run from the files in its directory: it reads the measurements, pools
// samples, compares them with the counters of the engine, and judges the run. It connects to nothing and writes
// nothing, so that the same report can be rebuilt at any time, and it is light enough for load-gen.
package assemble

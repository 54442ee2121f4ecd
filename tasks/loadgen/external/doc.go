// Package external runs an original load tool instead of load-gen and converts its results to a measurement
// directory: GuideLLM, inference-perf, AIPerf and vllm bench serve.
//
// The arguments of a tool are a pure function of the plan (Build); everything else is one child process and its
// files. The package must not know how results become numbers: an Importer reads them.
package external

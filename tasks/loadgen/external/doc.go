// Package external runs a real load tool in load-gen's place and brings its results into the measurement directory:
// GuideLLM, inference-perf, AIPerf and vllm bench serve.
//
// What a tool is told is a pure function of the plan (Build); everything else is one child process and its files. The
// package must not know how results become numbers: reading them is an Importer's business.
package external

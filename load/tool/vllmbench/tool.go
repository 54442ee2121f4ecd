// Package vllmbench holds what is known of `vllm bench serve`, and of benchmark_serving.py of the project InferenceMAX,
// whose words are the same but for one with another meaning: the block of a profile, the command line, how the tool is
// run, and its result file, which is written and read: one object per load value, one per line where there are several.
package vllmbench

import (
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/report/tools"
)

// Name is the tool in profiles and plans.
const Name = "vllm-bench"

// inferenceMAX is the name of the script of InferenceMAX.
const inferenceMAX = "inferencemax"

// Formats of results, as bflow export names them.
const (
	Format         = "vllm-bench"          // one JSON object
	FormatDetailed = "vllm-bench-detailed" // with what each request did
)

const serverHint = "set --base-url"

// Tool is vllm bench serve.
type Tool struct{}

// Definition names the tool.
func (Tool) Definition() tool.Definition {
	return tool.Definition{
		Name: Name, Key: "vllm_bench", Doc: "flags of vllm bench serve, without leading --",
		Program: "vllm", Subcommands: []string{"bench", "serve"}, Usage: "vllm bench serve ...", ServerHint: serverHint,
	}
}

// Parse reads the flags of a command line.
func (Tool) Parse(c *tool.CommandLine, args []string) { parse(c, flags, args) }

// External is the tool itself.
func (Tool) External() tool.External { return process{} }

// Results are the files of the tool.
func (Tool) Results() tool.Results {
	return tool.Results{
		Looks: Looks, Read: Read, Long: isLong,
		Formats: map[string]tools.Format{Format: Write, FormatDetailed: WriteDetailed},
		Lacks:   []string{"sched_lag"},
	}
}

// isLong finds the lists of --save-detailed.
func isLong(path string) bool {
	switch path {
	case "input_lens", "output_lens", "ttfts", "itls", "latencies", "start_times", "queue_times", "errors",
		"generated_texts":
		return true
	}
	return false
}

// InferenceMAX is the script of that project, which cannot make the load itself. It reads a block as vllm bench serve
// does.
type InferenceMAX struct{ Tool }

// Definition names the tool.
func (InferenceMAX) Definition() tool.Definition {
	return tool.Definition{
		Name: inferenceMAX, Key: inferenceMAX, Doc: "flags of InferenceMAX's benchmark_serving.py, without leading --",
		Program: inferenceMAX, Script: "benchmark_serving.py", Usage: "benchmark_serving.py ...", ServerHint: serverHint,
	}
}

// Parse reads the flags of a command line.
func (InferenceMAX) Parse(c *tool.CommandLine, args []string) {
	parse(c, flags+"use-chat-template! best-of", args)
}

// External is nil: the script is no program that pip installs.
func (InferenceMAX) External() tool.External { return nil }

// Results are none: the script writes those of vllm bench serve.
func (InferenceMAX) Results() tool.Results { return tool.Results{} }

// process is the tool as a process of its own.
type process struct{}

// Program is what pip installs.
func (process) Program() tool.Program {
	return tool.Program{Name: "vllm", Requirement: "vllm", Distribution: "vllm", Results: []string{resultFile}}
}

// Override writes the number of requests into a block.
func (process) Override(d *tool.Draft, block map[string]any) {
	if d.Over.MaxRequests.IsSet() {
		delete(block, "num_prompts")
		tool.SetOverride(block, "num-prompts", d.Over.MaxRequests)
	}
}

// Package aiperf holds what is known of AIPerf: the block of a profile, the command line, how the tool is run, and its
// artifacts, which are written and read: the summary in JSON and CSV and the requests in JSONL.
package aiperf

import (
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/report/tools"
)

// Name is the tool in profiles and plans.
const Name = "aiperf"

// Format is that of the results, as bflow export names it: a folder with profile_export_aiperf.json and .csv.
const Format = "aiperf"

// Tool is AIPerf.
type Tool struct{}

// Definition names the tool.
func (Tool) Definition() tool.Definition {
	return tool.Definition{
		Name: Name, Key: Name, Doc: "options of AIPerf",
		Program: Name, Subcommands: []string{"profile"}, Usage: "aiperf profile ...", ServerHint: "set --url",
	}
}

// External is the tool itself.
func (Tool) External() tool.External { return process{} }

// Results are the files of the tool.
func (Tool) Results() tool.Results {
	return tool.Results{
		Looks: Looks, Read: Read, Formats: map[string]tools.Format{Format: Write},
		Lacks: []string{"queue_wait"},
	}
}

// process is the tool as a process of its own.
type process struct{}

// Program is what pip installs.
func (process) Program() tool.Program {
	return tool.Program{
		Name: Name, Requirement: "aiperf==0.13.0", Distribution: Name, Results: []string{fileJSON, fileRows},
	}
}

// Override writes type and bounds of the load into a block.
func (process) Override(d *tool.Draft, block map[string]any) {
	tool.SetOverride(block, "endpoint_type", d.Over.RequestType)
	tool.SetOverride(block, "benchmark_duration", d.Over.MaxSeconds)
	tool.SetOverride(block, "request_count", d.Over.MaxRequests)
}

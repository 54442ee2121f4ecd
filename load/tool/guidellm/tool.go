// Package guidellm holds what is known of GuideLLM: the block of a profile, the command lines and scenarios of its
// generations (0.3 to 0.6, and 0.7 on), how the tool is run, and its reports. It writes those of schema 2 (0.8.1) and
// of 0.3.1, and reads those of every generation, which it recognises by structure. Formulas and names of reports are
// those of the tool; comments mark where they differ from bflow's.
package guidellm

import (
	"strings"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/report/tools"
)

// Name is the tool in profiles and plans.
const Name = "guidellm"

// Formats of results, as bflow export names them.
const (
	Format   = "guidellm"       // benchmarks.json of 0.4 and later; JSON is YAML too
	Format03 = "guidellm-0.3.1" // that of 0.3
)

// Tool is GuideLLM.
type Tool struct{}

// Definition names the tool.
func (Tool) Definition() tool.Definition {
	return tool.Definition{
		Name: Name, Key: Name, Doc: "options of guidellm benchmark run",
		Program: Name, Variables: []string{"GUIDELLM_TARGET=", "GUIDELLM__SPEC__BACKEND"},
		Usage: "guidellm benchmark|run ...", VariableUsage: "GUIDELLM_TARGET=URL GUIDELLM_...=...",
		ServerHint: "set --target or GUIDELLM_TARGET, from 0.7 on backend.target",
	}
}

// External is the tool itself.
func (Tool) External() tool.External { return process{} }

// Results are the files of the tool.
func (Tool) Results() tool.Results {
	return tool.Results{
		Looks: Looks, Read: Read, Long: isLong,
		Formats: map[string]tools.Format{Format: Write, Format03: Write031},
		Lacks:   []string{"queue_wait"},
	}
}

// isLong finds the requests of a benchmark, by how they ended.
func isLong(path string) bool {
	if !strings.HasPrefix(path, "benchmarks[") {
		return false
	}
	_, of, _ := strings.Cut(path, "].requests.")
	return of == "successful" || of == "incomplete" || of == "errored"
}

// process is the tool as a process of its own.
type process struct{}

// Program is what pip installs.
func (process) Program() tool.Program {
	return tool.Program{Name: Name, Requirement: "guidellm==0.8.1", Distribution: Name, Results: []string{reportFile}}
}

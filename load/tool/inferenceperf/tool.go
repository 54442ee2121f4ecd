// Package inferenceperf holds what is known of inference-perf: the block of a profile, which is the tool's own
// configuration, the command line, how the tool is run, and the folder of its results, which is written and read: the
// summary, one file per stage and the list of requests. All times are in s; the 50th percentile is named median, and
// there is no standard deviation.
package inferenceperf

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// Name is the tool in profiles and plans.
const Name = "inference-perf"

// Format is that of the results, as bflow export names it: a folder of *_lifecycle_metrics.json.
const Format = "inference-perf"

// Tool is inference-perf.
type Tool struct{}

// Definition names the tool.
func (Tool) Definition() tool.Definition {
	return tool.Definition{
		Name: Name, Key: "inference_perf.config",
		Doc: "options of inference-perf", InnerDoc: "configuration file of the tool",
		Program: Name, Usage: "inference-perf -c FILE", ServerHint: "set server.base_url",
	}
}

// External is the tool itself.
func (Tool) External() tool.External { return process{} }

// Results are the files of the tool.
func (Tool) Results() tool.Results {
	return tool.Results{
		Looks: Looks, Read: Read, Long: isLong, Formats: map[string]tools.Format{Format: Write},
		Lacks: []string{"queue_wait", "ttft", "ttft_intended", "ttfc_intended", "e2e_intended", "sched_lag"},
	}
}

// isLong finds the list of requests, which is the whole of its file.
func isLong(path string) bool { return path == "" }

// process is the tool as a process of its own.
type process struct{}

// Program is what pip installs.
func (process) Program() tool.Program {
	return tool.Program{
		Name: Name, Requirement: "inference-perf==0.7.0", Distribution: Name,
		Results: []string{"summary_*.json", "stage_*.json", perRequest + "*.json", fileConfig},
	}
}

// perRequest is the beginning of the names of files that list requests.
const perRequest = "per_request_"

// Override writes the type of requests into a block.
func (process) Override(d *tool.Draft, block map[string]any) {
	api, ok := block["api"].(map[string]any)
	if !ok || !d.Over.RequestType.IsSet() {
		return
	}
	switch kind := d.API.Type; kind {
	case runplan.APICompletions:
		api["type"] = "completion"
	case runplan.APIMessages:
		api["type"] = "anthropic_messages"
	default:
		api["type"] = kind
	}
}

// FirstStart is the start of the first request, ns of the monotonic clock: the files hold no other.
func (process) FirstStart(ctx context.Context, docs []tools.Document) (int64, bool) {
	first, found := 0.0, false
	for i := range docs {
		if !strings.HasPrefix(filepath.Base(docs[i].Path), perRequest) {
			continue
		}
		for request, err := range docs[i].Each(ctx, "") {
			var r struct {
				Start float64 `json:"start_time"`
			}
			if err != nil || json.Unmarshal(request, &r) != nil {
				break
			}
			if !found || r.Start < first {
				first, found = r.Start, true
			}
		}
	}
	return int64(first * 1e9), found
}

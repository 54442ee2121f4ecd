package external

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"bflow.dev/bflow/tasks/load"
	"bflow.dev/bflow/tasks/report/tools"
)

// reader returns who reads the results of a tool.
func reader(tool string) (tools.Reader, error) {
	return nil, fmt.Errorf("reading the results of %s is not supported", tool)
}

// documents reads the result files that a tool has left in dir.
func documents(tool, dir string) ([]tools.Document, error) {
	patterns := map[string][]string{
		load.GuideLLM:      {guideReport},
		load.InferencePerf: {"summary_*.json", "stage_*.json", "per_request_*.json", "config.yaml"},
		load.AIPerf:        {"profile_export_aiperf.json", "profile_export.jsonl"},
		load.VLLMBench:     {vllmResult},
	}[tool]
	var docs []tools.Document
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, fmt.Errorf("looking for results of %s: %w", tool, err)
		}
		slices.Sort(paths)
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("reading results of %s: %w", tool, err)
			}
			docs = append(docs, tools.Document{Path: path, Data: data})
		}
	}
	if len(docs) == 0 {
		return nil, fmt.Errorf("%s left no results in %q", tool, dir)
	}
	return docs, nil
}

package external

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"bflow.dev/bflow/load"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/report/tools/aiperf"
	"bflow.dev/bflow/report/tools/guidellm"
	"bflow.dev/bflow/report/tools/inferenceperf"
	"bflow.dev/bflow/report/tools/vllmbench"
)

// reader returns who reads the results of a tool.
func reader(tool string) (tools.Reader, error) {
	switch tool {
	case load.GuideLLM:
		return guidellm.Read, nil
	case load.InferencePerf:
		return inferenceperf.Read, nil
	case load.AIPerf:
		return aiperf.Read, nil
	case load.VLLMBench:
		return vllmbench.Read, nil
	}
	return nil, fmt.Errorf("reading the results of %s is not supported", tool)
}

// documents reads the result files that a tool has left in dir and in folders below it, one folder per point of a sweep.
// Their requests are kept aside in dir.
func documents(ctx context.Context, tool, dir string) ([]tools.Document, error) {
	patterns := map[string][]string{
		load.GuideLLM:      {guideReport},
		load.InferencePerf: {"summary_*.json", "stage_*.json", "per_request_*.json", "config.yaml"},
		load.AIPerf:        {"profile_export_aiperf.json", "profile_export.jsonl"},
		load.VLLMBench:     {vllmResult},
	}[tool]
	var docs []tools.Document
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		wanted := func(pattern string) bool {
			match, err := filepath.Match(pattern, d.Name())
			return match && err == nil
		}
		if err != nil || !d.Type().IsRegular() || !slices.ContainsFunc(patterns, wanted) {
			return err
		}
		doc, err := tools.OpenDocument(ctx, path, dir)
		if err == nil && doc.Broken != nil {
			err = fmt.Errorf("reading %q: %w", path, doc.Broken)
		}
		docs = append(docs, doc)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading results of %s: %w", tool, err)
	}
	if len(docs) == 0 {
		return nil, fmt.Errorf("%s left no results in %q", tool, dir)
	}
	return docs, nil
}

package load_test

import (
	"strings"
	"testing"

	"bflow.dev/bflow/load"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/guidellm"
)

func TestANumberThatNoLoadCanMeanIsRefused(t *testing.T) {
	for _, row := range []struct{ name, tool, block, want string }{
		{"a rate", load.Native, "{data: {input: 3}, stages: [{rate: 1e308, duration: 3s}]}",
			"stages[0].rate: want at most 1000000000000"},
		{"a rate that is a number still", load.Native, "{data: {input: 3}, stages: [{rate: 2000000, duration: 3s}]}",
			"stages[0].rate: want at most 1000000"},
		{"a concurrency", load.Native, "{data: {input: 3}, stages: [{concurrency: 5000000, duration: 3s}]}",
			"stages[0].concurrency: want at most 1000000"},
		{"requests", load.Native, "{data: {input: 3}, stages: [{rate: 1, requests: 9999999999}]}",
			"stages[0].requests: want at most 2147483647"},
		{"requests that need their bound named", load.Native,
			"{data: {input: 3}, stages: [{rate: 1, requests: 999999999}, {rate: 1, requests: 9999999999}]}",
			"stages[1].requests: want at most 2147483647"},
		{"requests of 18 digits", load.Native, "{data: {input: 3}, stages: [{rate: 1, requests: 999999999999999999}]}",
			"stages[0].requests: want at most 2147483647"},
		{"tokens of a prompt", load.Native, "{data: {input: 2000000000}, stages: [{rate: 1, requests: 3}]}",
			"data.input.mean is 2000000000, want at most 10000000"},
		{"a length of time", load.Native, "{data: {input: 3}, stages: [{rate: 1, duration: 999999h}]}",
			"stages[0].duration: want at most 87600h"},
		{"turns of conversations, together", load.Native,
			"{data: {input: 3, turns: 2000000000, conversations: 2000000000}, stages: [{concurrency: 1}]}",
			"stages[0].requests is 4000000000000000000, want at most 2147483647"},
		{"one of a list of GuideLLM", guidellm.Name,
			"{profile: constant, rate: [1, 1e300], max_seconds: 3, data: [{prompt_tokens: 3, output_tokens: 3}]}",
			"want at most 1000000000000"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, problems := translate(tool.Source{Tool: toolOf(row.tool), Name: "p",
				Block: tool.Block{File: "p.yaml", Path: "load", Node: parse(t, row.block)}})
			if err := problems.Err(); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

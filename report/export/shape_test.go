package export_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"bflow.dev/bflow/report/export"
	"bflow.dev/bflow/report/reporttest"
)

// kinds lists each path of a JSON value with the kinds it has there; entries of lists and of free maps are one.
func kinds(v any, path string, free *regexp.Regexp, out map[string]map[string]bool) {
	kind := fmt.Sprintf("%T", v)
	if v == nil {
		kind = "null"
	}
	if out[path] == nil {
		out[path] = map[string]bool{}
	}
	out[path][kind] = true
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			next := path + "." + k
			if free.MatchString(path) {
				next = path + ".*"
			}
			kinds(e, next, free, out)
		}
	case []any:
		for _, e := range x {
			kinds(e, path+"[]", free, out)
		}
	}
}

func shape(t *testing.T, data []byte, free string) map[string]map[string]bool {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]bool{}
	kinds(v, "", regexp.MustCompile(free), out)
	return out
}

// under says whether a path or one above it is null, an empty list, or said to be only in one of the two.
func under(path string, in map[string]map[string]bool, but *regexp.Regexp) bool {
	if but.MatchString(path) {
		return true
	}
	for p := path; p != ""; {
		i := strings.LastIndexAny(p, ".[")
		p = p[:max(0, i)]
		if k := in[p]; k != nil && (k["null"] || k["[]interface {}"] && in[p+"[]"] == nil) {
			return true
		}
	}
	return false
}

// TestOurFilesHaveTheShapeOfRecordedOnes: every key of the recorded file is in ours with the same kind of value, and
// the other way round, but for what the patterns name.
func TestOurFilesHaveTheShapeOfRecordedOnes(t *testing.T) {
	closed := built(t, reporttest.Run{Rates: []float64{20}})
	const real = "../imports/testdata/"
	for _, tt := range []struct {
		name, format, file, recorded string
		free                         string // maps with free keys
		only                         string // paths that one of the two has alone, each with its reason in the comment
	}{
		// strategy, profile and constraint have the fields of their kinds; a scheduler of processes has more to say
		{"GuideLLM 0.8.1", "guidellm", "benchmarks.json", "guidellm-0.8.1/benchmarks.json",
			`labels$|constraints$|environment$|_constraints$`,
			`\.(strategy|profile|constraints)(\[\])?(\.|$)|_constraints|\.environment|\.labels|spec\.metrics\.warnings|` +
				`config\.warnings|\.benchmarks\[\]\.warnings|outputs\[\]\.|_(delay|latency|delay_avg)\.|metrics\.(turn|root)_`},
		{"GuideLLM 0.3.1", "guidellm-0.3.1", "benchmarks.json", "guidellm-0.3.1/ok-benchmarks.json", `extras$|backend_info$`,
			`\.(strategy|profile)(\.|$)|\.extras|\.backend_info|processor_args|data_args`},
		// media of requests that have none; goodput where objectives are; the marks of the export
		{"inference-perf summary", "inference-perf", "summary_lifecycle_metrics.json",
			"inference-perf-0.7.0/summary_lifecycle_metrics.json", `by_label$`,
			`prompt_len|\.(image|video|audio)\.|^\.(exported_by|tool|tool_version|token_count_source)$|goodput|` +
				`by_label|successes\.request_size_bytes|inter_token_latency|time_to_first_token`},
		{"inference-perf requests", "inference-perf", "per_request_lifecycle_metrics.json",
			"inference-perf-0.7.0/per_request_lifecycle_metrics.json", `extra_info$`,
			`extra_info|computed_metrics|response_chunks`},
		// metrics that only the tool has, or only we
		{"AIPerf summary", "aiperf", "profile_export_aiperf.json", "aiperf-0.13.0/profile_export_aiperf.json",
			`input_config|run_info|telemetry_data`,
			`input_config|run_info|telemetry_data|^\.(exported_by|tool|tool_version|token_count_source|http_req|effective_|` +
				`active_|usage_|total_usage|osl_|credit_|tokens_in_flight|decode_duration|` +
				`time_to_second_token|inter_chunk_latency|time_to_first_output_token|completed)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want, err := os.ReadFile(real + tt.recorded)
			if err != nil {
				t.Fatal(err)
			}
			ours := shape(t, file(t, closed, tt.format, tt.file), tt.free)
			theirs := shape(t, want, tt.free)
			but := regexp.MustCompile(tt.only)
			for path, kinds := range theirs {
				compareKinds(t, "the recorded file", path, kinds, ours, but)
			}
			for path, kinds := range ours {
				compareKinds(t, "our file", path, kinds, theirs, but)
			}
		})
	}
}

func compareKinds(
	t *testing.T, whose, path string, kinds map[string]bool, other map[string]map[string]bool, but *regexp.Regexp,
) {
	t.Helper()
	if under(path, other, but) {
		return
	}
	have := other[path]
	if have == nil {
		t.Errorf("only %s has %s", whose, path)
		return
	}
	for kind := range kinds {
		if !have[kind] && !have["null"] && kind != "null" {
			t.Errorf("%s has %v at %s, the other %v", whose, kinds, path, have)
		}
	}
}

// file is one file of an export.
func file(t *testing.T, run export.Run, format, name string) []byte {
	t.Helper()
	files, err := exporterOf(t, format).Files(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name == name {
			var b strings.Builder
			if err := f.Write(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			return []byte(b.String())
		}
	}
	t.Fatalf("%s has no file %q", format, name)
	return nil
}

func exporterOf(t *testing.T, format string) export.Exporter {
	t.Helper()
	e, err := export.New(format)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

package format

import (
	"fmt"
	"strings"
	"testing"
)

// The limits of section 10 on size, each at its edge and one above.
func TestLimitsOnSize(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("{a: ", n) + "1" + strings.Repeat("}", n) }
	entries := func(n int) string { return "[" + strings.Repeat("--a,", n) + "]" }
	queries := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "q%d: up,", i)
		}
		return "queries: {" + b.String() + "}"
	}
	picker := func(n int) string {
		const kind = "kind: EndpointPickerConfig #"
		return "platform: llm-d\nmode: inference-scheduling\noptions: {epp_config: \"" + kind +
			strings.Repeat("x", n-len(kind)) + "\"}"
	}
	body := func(n int) string {
		return "load: {api: {body: {x: " + nested(n) + "}}, data: {input: 5}, stages: [{rate: 1, duration: 1s}]}"
	}
	for _, r := range []row{
		{Name: "nesting of 40", Experiment: body(35)},
		{Name: "nesting of 41", Experiment: body(36), Errors: "t.yaml:5:166: spec.load.api.body.x" +
			strings.Repeat(".a", 35) + ": want at most 40 levels of nesting"},
		{Name: "a list of 1,000", Experiment: "overrides: {runtime: {vllm_args: " + entries(1000) + "}}"},
		{Name: "a list of 1,001", Experiment: "overrides: {runtime: {vllm_args: " + entries(1001) + "}}",
			Errors: "t.yaml:5:36: spec.overrides.runtime.vllm_args: want at most 1000 entries, found 1001"},
		{Name: "500 queries", Metrics: queries(500)},
		{Name: "501 queries", Metrics: queries(501),
			Errors: "metrics.yaml:5:12: spec.queries: want at most 500 entries, found 501"},
		{Name: "an endpoint-picker configuration of 64 KiB", Deployment: picker(64 << 10)},
		{Name: "an endpoint-picker configuration above 64 KiB", Deployment: picker(64<<10 + 1),
			Errors: "deployment.yaml:7:25: spec.options.epp_config: want at most 64 KiB, found 65537 bytes"},
		{Name: "a file above 1 MiB", Experiment: "# " + strings.Repeat("x", 1<<20),
			Errors: "t.yaml: want a file of at most 1 MiB, found 1048742 bytes"},
	} {
		t.Run(r.Name, func(t *testing.T) {
			same(t, "errors", r.Errors, r.resolve().problems)
		})
	}
}

func TestValuesThatAliasesMakeAreCounted(t *testing.T) {
	r := row{Experiment: "mlflow: {tags: {a: &a x}}\noverrides: {runtime: {vllm_args: &l [" +
		strings.Repeat("*a,", 900) + "]}}\n" +
		"model_overrides: {" + strings.Repeat("M: {runtime: {vllm_args: *l}},", 12) + "}"}
	for i := range 12 {
		r.Experiment = strings.Replace(r.Experiment, "M:", fmt.Sprintf("m%d:", i), 1)
	}
	got := text(r.resolve().problems.Errors())
	if want := "want at most 10000 values in a document after alias expansion; this is one more"; !strings.Contains(got,
		want) || strings.Count(got, "\n") != 1 {
		t.Errorf("want one problem saying %q, got\n%.500s", want, got)
	}
}

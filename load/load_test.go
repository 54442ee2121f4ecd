package load_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/aiperf"
	"bflow.dev/bflow/load/tool/guidellm"
	"bflow.dev/bflow/load/tool/inferenceperf"
	"bflow.dev/bflow/load/tool/vllmbench"
)

var update = flag.Bool("update", false, "rewrite testdata/*.output.json")

// row is one document of an input file. Shown parts of the measurement default to stages and data.
type row struct {
	Name      string            `yaml:"name"`
	Tool      string            `yaml:"tool"`
	Runner    string            `yaml:"runner"`
	Venv      string            `yaml:"venv"`
	Submitted bool              `yaml:"submitted"`
	Env       map[string]string `yaml:"env"`
	Show      []string          `yaml:"show"`
	Block     yaml.Node         `yaml:"block"`
	Overrides []yaml.Node       `yaml:"overrides"`
}

func (r row) source(file string) tool.Source {
	src := tool.Source{
		Tool: toolOf(r.Tool), Runner: r.Runner, Venv: r.Venv, Submitted: r.Submitted, Env: r.Env, Name: "profile",
		Model: "acme/tiny-1b",
		Block: tool.Block{File: file, Path: "block", Node: &r.Block},
	}
	if r.Block.Kind == 0 {
		src.Block.Node = nil
	}
	for i := range r.Overrides {
		src.Overrides = append(src.Overrides, tool.OverrideLayer{
			Block: tool.Block{File: file, Path: "overrides", Node: &r.Overrides[i]},
		})
	}
	return src
}

func TestInputFilesTranslateToTheirOutputFiles(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.input.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("looking for input files: %v, %d found", err, len(inputs))
	}
	for _, input := range inputs {
		t.Run(filepath.Base(input), func(t *testing.T) {
			var out bytes.Buffer
			for _, r := range readRows(t, input) {
				r.print(&out, filepath.Base(input))
			}
			compare(t, strings.Replace(input, ".input.yaml", ".output.json", 1), out.Bytes())
		})
	}
}

func readRows(t *testing.T, file string) []row {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for dec := yaml.NewDecoder(bytes.NewReader(b)); ; {
		var r row
		if err := dec.Decode(&r); err != nil {
			if err.Error() != "EOF" {
				t.Fatalf("reading %s: %v", file, err)
			}
			return rows
		}
		rows = append(rows, r)
	}
}

// print writes what r became: one JSON object, a line per stage, the errors instead where there are some.
func (r row) print(out *bytes.Buffer, file string) {
	tr, problems := translate(r.source(file))
	out.WriteString("{" + jsonLine("name", r.Name))
	if problems.Err() != nil {
		out.WriteString(list("errors", problems.Errors()) + "\n}\n")
		return
	}
	m := tr.Measurement
	parts := map[string]any{
		"api": m.API, "data": m.Data, "env": m.Env, "external": m.External, "labels": m.Labels, "runner": m.Runner,
		"search": m.Search, "slo": tr.SLO, "record": m.Record,
	}
	show := r.Show
	if show == nil {
		show = []string{"data", "stages"}
	}
	for _, part := range show {
		if part == "stages" {
			out.WriteString(list("stages", m.Stages))
		} else {
			out.WriteString("," + jsonLine(part, parts[part]))
		}
	}
	if m.Runner != tool.RunnerNative {
		out.WriteString("," + jsonLine("runner", m.Runner))
	}
	if len(tr.Secrets) > 0 {
		out.WriteString("," + jsonLine("secret", &tr.Secrets[0]))
	}
	if len(m.Notes) > 0 {
		out.WriteString(list("notes", m.Notes))
	}
	out.WriteString("\n}\n")
}

func list[T any](key string, items []T) string {
	lines := make([]string, len(items))
	for i, x := range items {
		if err, ok := any(x).(error); ok {
			lines[i] = "    " + line(err.Error())
		} else {
			lines[i] = "    " + line(x)
		}
	}
	return ",\n  \"" + key + "\": [\n" + strings.Join(lines, ",\n") + "\n  ]"
}

func jsonLine(key string, x any) string { return "\n  \"" + key + "\": " + line(x) }

func line(x any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(x); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); rewrite it with -update after a look:\n%s", file, diff)
	}
}

func TestBlanksSetNothing(t *testing.T) {
	for _, r := range []struct{ name, tool, block string }{
		{"the number of a rule", guidellm.Name, "{profile: {kind: constant, rate: 5}, data: {prompt_tokens: 3}, " +
			"constraint: [{kind: max_duration, seconds: 5}, {kind: max_errors, count: BLANK}]}"},
		{"a number with a default", guidellm.Name, "{profile: {kind: constant, rate: 5}, data: {prompt_tokens: 3}, " +
			"constraint: [{kind: max_duration, seconds: 5}, {kind: max_error_rate, rate: 0.5, window: BLANK}]}"},
		{"a length", guidellm.Name, "{profile: {kind: constant, rate: 5}, data: {prompt_tokens: BLANK}, " +
			"constraint: [{kind: max_duration, seconds: 5}]}"},
		{"a rate", inferenceperf.Name,
			"{load: {type: constant, stages: [{rate: BLANK, duration: 3}]}, data: {type: random}}"},
		{"a concurrency", aiperf.Name, "{endpoint_type: chat, concurrency: BLANK, request_count: 5, isl: 3}"},
		{"a number of prompts", vllmbench.Name, "{num-prompts: BLANK, dataset-name: random}"},
	} {
		t.Run(r.name, func(t *testing.T) {
			results := map[string]string{}
			for _, blank := range []string{"null", `""`, `"  "`} {
				block := tool.Block{Path: "block", Node: parse(t, strings.ReplaceAll(r.block, "BLANK", blank))}
				tr, problems := tool.Translate(tool.Source{Tool: toolOf(r.tool), Name: "p", Block: block})
				var texts []string
				for _, p := range problems {
					texts = append(texts, p.Text)
				}
				results[blank] = jsonLine("measurement", tr.Measurement) + list("problems", texts)
			}
			for blank, got := range results {
				if diff := cmp.Diff(results["null"], got); diff != "" {
					t.Errorf("%s is not as null (-null +%s):\n%s", blank, blank, diff)
				}
			}
		})
	}
}

func TestABlankEntryOfAListOfNumbersIsRefused(t *testing.T) {
	block := parse(t, `{profile: constant, rate: [1, ""], max_seconds: 3, data: [{prompt_tokens: 3}]}`)
	_, problems := tool.Translate(tool.Source{Tool: guidellm.Tool{}, Name: "p",
		Block: tool.Block{Path: "block", Node: block}})
	if err := problems.Err(); err == nil || !strings.Contains(err.Error(), `block.rate[1]: want a number, found ""`) {
		t.Errorf("got %v, want an error about the entry", err)
	}
}

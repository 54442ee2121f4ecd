package load_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/aiperf"
	"bflow.dev/bflow/load/tool/guidellm"
	"bflow.dev/bflow/load/tool/inferenceperf"
	"bflow.dev/bflow/load/tool/vllmbench"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/literal"
)

// secretText must not be found in anything but the value of a Secret.
const secretText = "sk-very-secret"

func TestCredentialsLeaveTheBlock(t *testing.T) {
	for _, r := range []struct{ name, tool, block string }{
		{"guidellm: a key of the backend", guidellm.Name,
			`{backend: {api_key: KEY, server_history: true}, constraint: [{kind: max_requests, count: 5}]}`},
		{"guidellm: a backend written as JSON", guidellm.Name,
			`{backend: '{"api_key": "KEY", "server_history": true}', constraint: [{kind: max_requests, count: 5}]}`},
		{"guidellm: a header", guidellm.Name,
			`{backend: {extras: {headers: {authorization: Bearer KEY}}}, constraint: [{kind: max_requests, count: 5}]}`},
		{"aiperf: a header as text", aiperf.Name,
			`{endpoint_type: chat, public_dataset: x, header: ["Authorization: Bearer KEY", "a: b"]}`},
		{"aiperf: its key", aiperf.Name, `{endpoint_type: chat, isl: 3, api_key: KEY}`},
		{"inference-perf: its key", inferenceperf.Name,
			`{server: {api_key: KEY}, load: {type: trace_session_replay}, data: {type: mock_data}}`},
		{"vllm-bench: a header as text", vllmbench.Name, `{header: ["Authorization=Bearer KEY"], dataset-name: sonnet}`},
		{"native: a header", load.Native,
			`{api: {headers: {Authorization: Bearer KEY}}, data: {input: 3}, stages: [{rate: 1, duration: 3s}]}`},
	} {
		t.Run(r.name, func(t *testing.T) {
			tr := translateText(t, r.tool, strings.ReplaceAll(r.block, "KEY", secretText))
			if len(tr.Secrets) != 1 || tr.Secrets[0].Value != secretText {
				t.Fatalf("the credential is not in the secret: %v", tr.Secrets)
			}
			b, err := json.Marshal(tr)
			if err != nil {
				t.Fatal(err)
			}
			if text := string(b) + fmt.Sprint(tr.Secrets); strings.Contains(text, secretText) {
				t.Errorf("the credential is in %s", text)
			}
			if ref := tr.Measurement.API.APIKeySecret; ref == nil || ref.Name != tr.Secrets[0].Name ||
				ref.Key != tr.Secrets[0].Key {
				t.Errorf("the measurement names secret %v, want %v", ref, tr.Secrets)
			}
		})
	}
}

// TestAnAddressInTheBlockOfAToolIsTakenOut: the tool gets it back from its Secret.
func TestAnAddressInTheBlockOfAToolIsTakenOut(t *testing.T) {
	block := strings.ReplaceAll(`{dataset-name: custom, dataset-path: "https://me:KEY@h.example/x.jsonl"}`, "KEY",
		secretText)
	tr, problems := tool.Translate(tool.Source{Tool: vllmbench.Tool{}, Runner: tool.RunnerExternal, Name: "p",
		Block: tool.Block{File: "p.yaml", Path: "spec", Node: parse(t, block)}})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(tr)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), secretText) {
		t.Errorf("it is in %s", b)
	}
	given, _ := tr.Measurement.External.(map[string]any)
	path, _ := given["dataset-path"].(string)
	if k := runplan.References(path); len(k) != 1 || !slices.ContainsFunc(tr.Secrets, func(s literal.Secret) bool {
		return s.Name == k[0].Name && strings.Contains(s.Value, secretText)
	}) {
		t.Errorf("the tool gets %v, of Secrets %v", given, tr.Secrets)
	}
	for _, p := range problems.Warnings() {
		if strings.Contains(p.Text, secretText) {
			t.Errorf("a warning shows it: %s", p.Text)
		}
	}
}

func translateText(t *testing.T, name, block string) tool.Translation {
	t.Helper()
	tr, problems := translate(tool.Source{Tool: toolOf(name), Name: "p", Venv: "/opt/venv",
		Block: tool.Block{File: "p.yaml", Path: "spec", Node: parse(t, block)}})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return tr
}

func parse(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return &doc
}

func TestBlocksBeyondTheLimitsAreRefused(t *testing.T) {
	for _, r := range []struct{ name, block, want string }{
		{"an alias that contains itself", "&a {data: *a}", "nested deeper than 40 levels"},
		{"a bomb of aliases",
			"{a: &a [1,1,1,1,1,1,1,1,1,1], b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a], c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b], " +
				"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c], e: [*d]}", "holds more than 10000 values"},
		{"a long list", "{data: [" + strings.Repeat("1,", 1001) + "]}", "a list of 1001 entries: the limit is 1000"},
	} {
		t.Run(r.name, func(t *testing.T) {
			_, problems := tool.Translate(tool.Source{Tool: guidellm.Tool{},
				Block: tool.Block{File: "p.yaml", Path: "spec.guidellm", Node: parse(t, r.block)}})
			if err := problems.Err(); err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want %q", err, r.want)
			}
		})
	}
}

func TestLenientReadingWarnsOfUnknownKeys(t *testing.T) {
	src := tool.Source{Tool: toolOf(load.Native), Lenient: true,
		Block: tool.Block{File: "p.yaml", Path: "spec.load",
			Node: parse(t, "{dat: 1, data: {input: 3}, stages: [{rate: 1, duration: 3s}]}")}}
	problems := readNative(&src, true)
	_, more := tool.Translate(src)
	problems = append(problems, more...)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if w := problems.Warnings(); len(w) != 1 || !strings.Contains(w[0].Text, `unknown field "dat"`) {
		t.Errorf("warnings %v, want one of dat", w)
	}
}

func TestTheSameBlockTranslatesTheSameTwice(t *testing.T) {
	node := parse(t,
		`{profile: {kind: concurrent, streams: [2, 4]}, data: `+
			`"prompt_tokens=3,prefix_tokens=2,prefix_count=2*concurrency", constraint: [{kind: max_requests, count: `+
			`3*concurrency}]}`)
	src := tool.Source{Tool: guidellm.Tool{}, Name: "p",
		Block: tool.Block{File: "p.yaml", Path: "spec.guidellm", Node: node}}
	first, _ := tool.Translate(src)
	second, _ := tool.Translate(src)
	if a, b := line(first), line(second); a != b {
		t.Errorf("first  %s\nsecond %s", a, b)
	}
}

func TestACredentialInPlaceOfAMappingIsNotShown(t *testing.T) {
	for _, r := range []struct{ name, tool, block string }{
		{"headers of guidellm", guidellm.Name, "{backend: {extras: {headers: Bearer KEY}}}"},
		{"a reference of guidellm", guidellm.Name, "{backend: {extras: {body: {key: {valueFrom: KEY}}}}}"},
		{"what a mapping is merged with", guidellm.Name, "{backend: {extras: {headers: {<<: &key KEY, a: b}}}}"},
		{"headers of inference-perf", inferenceperf.Name, "{api: {headers: Bearer KEY}}"},
		{"headers of a native block", load.Native, "{api: {headers: Bearer KEY}}"},
		{"a reference of a native block", load.Native, "{api: {headers: {authorization: {valueFrom: KEY}}}}"},
	} {
		t.Run(r.name, func(t *testing.T) {
			block := tool.Block{File: "p.yaml", Path: "spec", Node: parse(t, strings.ReplaceAll(r.block, "KEY", secretText))}
			_, problems := translate(tool.Source{Tool: toolOf(r.tool), Name: "p", Block: block})
			err := problems.Err()
			if err == nil || !strings.Contains(err.Error(), "want a mapping, found a text that is not shown") {
				t.Errorf("got %v, want it to say that a mapping is wanted", err)
			}
			if err != nil && strings.Contains(err.Error(), secretText) {
				t.Errorf("it is in %v", err)
			}
		})
	}
}

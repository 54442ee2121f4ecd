package load_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/aiperf"
	"bflow.dev/bflow/load/tool/guidellm"
	"bflow.dev/bflow/load/tool/inferenceperf"
)

// unknownKey matches what a translator says of a key that it never heard of.
var unknownKey = regexp.MustCompile(`unknown field|takes no "`)

// known reports what a translation says of key, where it says that it does not know it.
func known(t *testing.T, name, key, block string) {
	t.Helper()
	_, problems := tool.Translate(tool.Source{Tool: toolOf(name), Name: "p",
		Block: tool.Block{File: "p.yaml", Path: "b", Node: parse(t, block)}})
	for _, p := range problems {
		if unknownKey.MatchString(p.Text) && strings.Contains(p.Text, fmt.Sprintf("%q", key)) {
			t.Errorf("%s: %s\n%s", key, p.Error(), block)
		}
	}
}

func readJSON[T any](t *testing.T, file string) (out T) {
	t.Helper()
	b, err := os.ReadFile("testdata/schemas/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Every field of every profile of GuideLLM is one that we read, note, or leave to the tool.
func TestEveryKeyOfGuideLLMsProfilesIsKnown(t *testing.T) {
	for name, schema := range readJSON[map[string]struct {
		Properties map[string]struct {
			Const   string   `json:"const"`
			Default any      `json:"default"`
			Enum    []string `json:"enum"`
		} `json:"properties"`
	}](t, "guidellm-0.8.1-profiles.json") {
		kind, _ := schema.Properties["kind"].Default.(string)
		for key := range schema.Properties {
			known(t, guidellm.Name, key, fmt.Sprintf(`{profile: {kind: %s, %s: 7}}`, kind, key))
		}
		if len(schema.Properties) > 0 && kind == "" {
			t.Errorf("%s has no kind", name)
		}
	}
}

// The same for all that surrounds the profile.
func TestEveryKeyOfGuideLLMIsKnown(t *testing.T) {
	places := map[string]string{
		"Backend": `{backend: {kind: %s, %s: 7}}`, "Constraint": `{constraint: [{kind: %s, %s: 7}]}`,
		"Loader":    `{data_loader: {kind: %s, %s: 7}}`,
		"Tokenizer": `{tokenizer: {kind: %s, %s: 7}}`, "Random": `{seed: {kind: %s, %s: 7}}`,
		"Metrics": `{metrics: {kind: %s, %s: 7}}`,
		"Output":  `{output: [{kind: %s, %s: 7}]}`, "Mapper": `{data_column_mapper: {kind: %s, %s: 7}}`,
		"Finalizer": `{data_finalizer: {kind: %s, %s: 7}}`,
		"Encoder":   `{data_preprocessor: [{kind: %s, %s: 7}]}`, "Pivot": `{data_preprocessor: [{kind: %s, %s: 7}]}`,
		"Extractor": `{data_preprocessor: [{kind: %s, %s: 7}]}`,
		"Data":      `{data: [{kind: %s, %s: 7}]}`, "TraceFormat": `{data: [{kind: %s, %s: 7}]}`,
		"Profile": `{profile: {kind: %s, %s: 7}}`,
	}
	order := []string{"Backend", "Constraint", "Loader", "Tokenizer", "Random", "Metrics", "Output", "Mapper", "Finalizer",
		"Encoder", "Pivot", "Extractor", "TraceFormat", "Profile", "Data"}
	for name, class := range readJSON[map[string]struct{ Kinds, Keys []string }](t, "guidellm-0.8.1-keys.json") {
		for _, kind := range class.Kinds {
			for _, key := range class.Keys {
				place := ""
				for _, p := range order {
					if place == "" && strings.Contains(name, p) {
						place = places[p]
					}
				}
				if place == "" {
					t.Fatalf("no place for %s", name)
				}
				known(t, guidellm.Name, key, fmt.Sprintf(place, kind, key))
			}
		}
	}
	for _, key := range readJSON[map[string]struct{ Kinds, Keys []string }](t,
		"guidellm-0.8.1-keys.json")["BenchmarkArgs"].Keys {
		known(t, guidellm.Name, key, fmt.Sprintf(`{%s: {}}`, key))
	}
}

// node is as much of a JSON Schema as it takes to walk one.
type node struct {
	Ref        string           `json:"$ref"`
	Properties map[string]*node `json:"properties"`
	AnyOf      []*node          `json:"anyOf"`
	Items      *node            `json:"items"`
	Defs       map[string]*node `json:"$defs"`
}

// paths calls visit for every key below n: the path to it, with [] for the entries of lists.
func (n *node) paths(defs map[string]*node, at string, depth int, visit func(string)) {
	if depth > 12 {
		return
	}
	if n.Ref != "" {
		defs[strings.TrimPrefix(n.Ref, "#/$defs/")].paths(defs, at, depth+1, visit)
	}
	for _, o := range n.AnyOf {
		o.paths(defs, at, depth+1, visit)
	}
	if n.Items != nil {
		n.Items.paths(defs, at+"[]", depth+1, visit)
	}
	for key, p := range n.Properties {
		visit(at + "." + key)
		p.paths(defs, at+"."+key, depth+1, visit)
	}
}

// Every key of inference-perf's configuration is one that we read, note, or leave to the tool.
func TestEveryKeyOfInferencePerfIsKnown(t *testing.T) {
	root := readJSON[node](t, "inference-perf-0.7.0-config.json")
	seen := map[string]bool{}
	root.paths(root.Defs, "", 0, func(path string) { seen[path] = true })
	if len(seen) < 300 {
		t.Fatalf("the schema has %d paths", len(seen))
	}
	for path := range seen {
		block := "1"
		segs := strings.Split(strings.TrimPrefix(path, "."), ".")
		for i := len(segs) - 1; i >= 0; i-- {
			key, list := strings.CutSuffix(segs[i], "[]")
			if i < len(segs)-1 && list {
				block = "[" + block + "]"
			}
			block = "{" + key + ": " + block + "}"
		}
		for _, kind := range []string{"synthetic", "shared_prefix"} {
			for _, shape := range []string{"constant", "concurrent", "trace_replay", "trace_session_replay"} {
				known(t, inferenceperf.Name, strings.TrimSuffix(segs[len(segs)-1], "[]"), withKinds(block, kind, shape))
			}
		}
	}
}

// withKinds gives data and load of a block the kinds that its keys belong to.
func withKinds(block, data, load string) string {
	rest, ok := strings.CutPrefix(block, "{data: {")
	switch {
	case ok && !strings.HasPrefix(rest, "type:"):
		return "{load: {stages: [{rate: 1, duration: 3}]}, data: {type: " + data + ", " + rest
	case strings.HasPrefix(block, "{load: {type"):
		return block
	case strings.HasPrefix(block, "{load: {"):
		return "{data: {type: synthetic}, load: {type: " + load + ", " + strings.TrimPrefix(block, "{load: {")
	}
	return "{load: {stages: [{rate: 1, duration: 3}]}, data: {type: synthetic}, " + strings.TrimPrefix(block, "{")
}

// Every flag of AIPerf, in every spelling, is one that we read, note, or leave to the tool.
func TestEveryFlagOfAIPerfIsKnown(t *testing.T) {
	b, err := os.ReadFile("testdata/schemas/aiperf-0.13.0-flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		for _, flag := range strings.Fields(line)[1:] {
			name, long := strings.CutPrefix(flag, "--")
			if !long {
				continue
			}
			key := strings.ReplaceAll(name, "-", "_")
			known(t, aiperf.Name, key, fmt.Sprintf(`{endpoint_type: chat, isl: 5, "%s": 1}`, key))
		}
	}
}

package plan

import (
	"reflect"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
)

const (
	sumA = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	sumB = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	sumC = "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
)

const pinned = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: pinned}
spec:
  model: {name: acme/tiny-1b}
  deployment_profile: plain-vllm
  load:
    data: {trace: {format: mooncake_trace, url: "https://data.example/trace.jsonl"}}
    stages: [{schedule: trace}]
  pins: PINS
`

func planPinned(t *testing.T, pins string, opt Options) *runplan.RunPlan {
	t.Helper()
	plans, problems := planFile(t, "pinned.yaml", []byte(strings.ReplaceAll(pinned, "PINS", pins)), opt)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return plans[0]
}

func TestTheTagOfAVersion(t *testing.T) {
	for _, row := range []struct{ name, version, want string }{
		{"a release as it is", "v1.2.3", "v1.2.3"},
		{"none", "", "latest"},
		{"metadata of a build", "v1.2.3-4-gabcdef+dirty", "v1.2.3-4-gabcdef-dirty"},
		{"a branch", "feature/queue~1@home", "feature-queue-1-home"},
		{"what is no ASCII", "v1.2-größe", "v1.2-gr--e"},
		{"a beginning that no tag has", ".-_v1", "v1"},
		{"nothing that a tag could hold", "+++", "latest"},
		{"a long one is cut, and not at a mark", strings.Repeat("a", 62) + "+bcd", strings.Repeat("a", 62)},
	} {
		got := planPinned(t, "{}", Options{ImagePrefix: "reg.example/b", Version: row.version}).Images["collect"]
		if want := "reg.example/b/collect:" + row.want; got != want {
			t.Errorf("%s: got %q, want %q", row.name, got, want)
		}
	}
}

func TestWhoPinsAnImage(t *testing.T) {
	const ref = "vllm/vllm-openai:v0.23.0"
	lock := Lock{ref: ref + "@" + sumC}
	file := "{images: {" + ref + ": " + sumB + "}}"
	for _, row := range []struct {
		name string
		pins string
		opt  Options
		want string
	}{
		{"nobody: the reference stays", "{}", Options{}, ref},
		{"the lock pins", "{}", Options{Lock: lock}, ref + "@" + sumC},
		{"the experiment beats the lock", file, Options{Lock: lock}, ref + "@" + sumB},
		{"a flag beats the experiment", file, Options{Lock: lock, Pins: map[string]string{ref: sumA}}, ref + "@" + sumA},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := planPinned(t, row.pins, row.opt)
			if got := p.Deployment.Engine.Image; got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if pinned := p.Pins != nil && p.Pins.Images[ref] != ""; pinned != (row.want != ref) {
				t.Errorf("recorded pins %v", p.Pins)
			}
		})
	}
}

func TestModelAndDatasetPinsAreUsedAndRecorded(t *testing.T) {
	const commit, sum = "0123456789abcdef0123456789abcdef01234567",
		"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
	p := planPinned(t, `{model_revisions: {acme/tiny-1b: `+commit+`, acme/other: `+commit+
		`}, datasets: {"https://data.example/trace.jsonl": `+sum+`}}`, Options{})
	if p.Deployment.Model.Revision != commit || p.Measurements[0].Data.Trace.SHA256 != sum {
		t.Errorf("revision %q, trace %+v", p.Deployment.Model.Revision, p.Measurements[0].Data.Trace)
	}
	want := &runplan.Pins{ModelRevisions: map[string]string{"acme/tiny-1b": commit},
		Datasets: map[string]string{"https://data.example/trace.jsonl": sum}}
	if !reflect.DeepEqual(p.Pins, want) {
		t.Errorf("recorded %+v, want what was used", p.Pins)
	}
}

func TestRequireWarnNamesEveryLooseName(t *testing.T) {
	plans, problems := planFile(t, "pinned.yaml", []byte(strings.ReplaceAll(pinned, "PINS", "{require: warn}")),
		Options{ImagePrefix: "example.com/bflow", Version: "v1"})
	if len(plans) != 1 || problems.Err() != nil {
		t.Fatalf("%d plans, %v", len(plans), problems.Err())
	}
	text := problems.Error()
	for _, want := range []string{"image vllm/vllm-openai:v0.23.0 is not pinned", "model acme/tiny-1b is",
		"dataset https://data.example/trace.jsonl is", "image example.com/bflow/load-gen:v1 is"} {
		if !strings.Contains(text, want) {
			t.Errorf("no warning %q in:\n%s", want, text)
		}
	}
}

func TestTaskImages(t *testing.T) {
	lock := Lock{"load-gen": "example.com/l@" + sumA}
	if got := planPinned(t, "{}", Options{Lock: lock}).Images; !reflect.DeepEqual(got,
		map[string]string{"load-gen": "example.com/l@" + sumA}) {
		t.Errorf("from the lock: %v", got)
	}
	got := planPinned(t, "{}", Options{Lock: lock, ImagePrefix: "mirror.example/b/", Version: "v1",
		Pins: map[string]string{"mirror.example/b/collect:v1": sumB}}).Images
	if got["load-gen"] != "mirror.example/b/load-gen:v1" || got["collect"] != "mirror.example/b/collect:v1@"+sumB ||
		len(got) != 5 {
		t.Errorf("from the prefix: %v", got)
	}
}

func TestReadLock(t *testing.T) {
	lock, err := ReadLock([]byte(`{"load-gen": "example.com/l:v1@` + sumA + `"}`))
	if err != nil || lock["load-gen"] != "example.com/l:v1@"+sumA {
		t.Errorf("%v, %v", lock, err)
	}
	for _, bad := range []string{``, `[]`, `{"a": 1}`, `{"a": "example.com/l:v1"}`, `{"a": "l@sha256:ab"}`} {
		if _, err := ReadLock([]byte(bad)); err == nil || !strings.Contains(err.Error(), "image lock") {
			t.Errorf("%s gives %v", bad, err)
		}
	}
}

func TestParsePins(t *testing.T) {
	pins, err := ParsePins([]string{"vllm/vllm-openai:v1=" + sumA})
	if err != nil || pins["vllm/vllm-openai:v1"] != sumA {
		t.Errorf("%v, %v", pins, err)
	}
	for _, bad := range []string{"", "x", "=" + sumA, "x=sha256:ab", "x=" + sumA + "0"} {
		if _, err := ParsePins([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

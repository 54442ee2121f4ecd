package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestOverrides(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", " \n\n", nil},
		{"one", "load.duration=2s", []string{"load.duration=2s"}},
		{"one a line, with a remark", "a.b=1\n# faster\n c=2 \r\n", []string{"a.b=1", "c=2"}},
		{"several on the one line of a form", "a.b=1 c=two words d=3", []string{"a.b=1", "c=two words", "d=3"}},
		{"paths with an index and with a quoted key", `a=1 load.stages[1].rate=20 runtime.node_selector["a.b/c d"]=x e=2`,
			[]string{"a=1", "load.stages[1].rate=20", `runtime.node_selector["a.b/c d"]=x`, "e=2"}},
		{"brackets hold together", `load.stages=[{rate: 10, duration: 2s}, {rate: 20 }] name=x`,
			[]string{`load.stages=[{rate: 10, duration: 2s}, {rate: 20 }]`, "name=x"}},
		{"quotes hold together", `args="--a b=c" d='x e=1' f=2`, []string{`args="--a b=c"`, `d='x e=1'`, "f=2"}},
		{"a flag is no path", `args=--foo --bar=1`, []string{`args=--foo --bar=1`}},
	} {
		if got := Overrides(row.text); !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

func TestRead(t *testing.T) {
	for _, row := range []struct {
		name   string
		params map[string]string
		want   []string // parts of the error
	}{
		{"a text", map[string]string{"experiment": "kind: Experiment"}, nil},
		{"a file in a repository", map[string]string{"git-url": "https://example.com/x", "path": "a.yaml profiles",
			"trusted-only": "true", "wait": "false"}, nil},
		{"nothing", nil, []string{`pass its text as param "experiment"`, `"git-url" and "path"`}},
		{"both", map[string]string{"experiment": "x", "git-url": "y"}, []string{"exclude each other"}},
		{"no path", map[string]string{"git-url": "https://example.com/x"}, []string{`param "path" is empty`}},
		{"several at once", map[string]string{"wait": "maybe", "trusted-only": "perhaps"},
			[]string{`param "wait": want true or false, found "maybe"`,
				`param "trusted-only": want true or false, found "perhaps"`, "no experiment is given"}},
	} {
		r, err := Read(row.params)
		if (err != nil) != (row.want != nil) {
			t.Errorf("%s: %v", row.name, err)
		}
		for _, w := range row.want {
			if !strings.Contains(fmt.Sprint(err), w) {
				t.Errorf("%s: %q does not say %q", row.name, err, w)
			}
		}
		if r.Git != nil && err == nil && (!r.Git.TrustedOnly || len(r.Git.Paths) != 2 || r.Wait) {
			t.Errorf("%s: %+v", row.name, r)
		}
	}
}

func TestNamesAreTheSameForTheSamePipelineRun(t *testing.T) {
	made := time.Date(2026, 11, 22, 4, 5, 6, 0, time.UTC)
	a, b, other := Names("u", made), Names("u", made), Names("v", made)
	first := a("demo")
	if first != b("demo") || first == a("demo") || first == other("demo") ||
		!strings.HasPrefix(first, "demo-20261122-040506-") || len(first) != len("demo-20261122-040506-abcde") {
		t.Errorf("got %q", first)
	}
}

func TestResultsFitIntoATerminationMessage(t *testing.T) {
	dir := t.TempDir()
	r := Results{filepath.Join(dir, "v"), filepath.Join(dir, "r"), filepath.Join(dir, "p")}
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if err := r.Begin([]string{"a", "b"}, []string{strings.Repeat("1", 64), strings.Repeat("2", 64)}); err != nil {
		t.Fatal(err)
	}
	if read(r.Runs) != "a,b" || len(read(r.PlanHashes)) != 129 || read(r.Verdict) != "" {
		t.Errorf("%q, %q, %q", read(r.Runs), read(r.PlanHashes), read(r.Verdict))
	}
	var names, hashes []string
	for n := range 256 {
		names, hashes = append(names, fmt.Sprintf("experiment-of-a-long-name-20261122-040506-%05d", n)),
			append(hashes, strings.Repeat("a", 64))
	}
	if err := r.Begin(names, hashes); err != nil {
		t.Fatal(err)
	}
	if n := len(read(r.Runs)) + len(read(r.PlanHashes)); n > 2600 || !strings.HasSuffix(read(r.Runs), " more") {
		t.Errorf("%d bytes: %s", n, read(r.Runs))
	}
	if err := r.End("pass"); err != nil || read(r.Verdict) != "pass" {
		t.Error(err)
	}
}

package commandline

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/load/tool/registry"
)

// credential must not be found in anything but Request.Key.
const credential = "sk-very-secret"

func TestNoPrintShowsTheKey(t *testing.T) {
	seen := 0
	for _, r := range allRows(t) {
		req, findings, err := r.parse()
		b, jsonErr := json.Marshal(req)
		if jsonErr != nil {
			t.Fatal(jsonErr)
		}
		text := string(b) + fmt.Sprintf("%v %+v %#v %v %v", req, req, req, findings, err)
		if strings.Contains(text, credential) {
			t.Errorf("%s: the key is in %s", r.Name, text)
		}
		if string(req.Key) == credential {
			seen++
		}
	}
	if seen < 5 {
		t.Errorf("%d rows hold a key", seen)
	}
}

func allRows(t testing.TB) []row {
	t.Helper()
	inputs, err := filepath.Glob("testdata/*.input.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for _, input := range inputs {
		rows = append(rows, readRows(t, input)...)
	}
	return rows
}

func TestTheSameWordsAreReadTheSameTwice(t *testing.T) {
	for _, r := range allRows(t) {
		req, findings, _ := r.parse()
		again, same, _ := r.parse()
		if a, b := line(req)+fmt.Sprint(findings), line(again)+fmt.Sprint(same); a != b {
			t.Errorf("%s\nfirst  %s\nsecond %s", r.Name, a, b)
		}
	}
}

func TestAToolIsToldByItsWords(t *testing.T) {
	for _, r := range []struct {
		name string
		args []string
		env  []string
		want bool
	}{
		{"the name of a tool", []string{"guidellm", "run"}, nil, true},
		{"our own flags", []string{"--plan", "x"}, []string{"GUIDELLM_TARGET=http://x"}, false},
		{"no flags, GuideLLM's variable", nil, []string{"A=b", "GUIDELLM_TARGET=http://x"}, true},
		{"no flags, a variable of its spec", nil, []string{"GUIDELLM__SPEC__BACKEND__TARGET=http://x"}, true},
		{"nothing", nil, []string{"GUIDELLM_RATE=3"}, false},
	} {
		if got := IsOfTool(registry.All(), r.args, func() []string { return r.env }); got != r.want {
			t.Errorf("%s: got %v", r.name, got)
		}
	}
}

// FuzzParse feeds anything as arguments, variables and a file: no panic, and what comes without an error is JSON and
// names a server and something to do.
func FuzzParse(f *testing.F) {
	for _, r := range allRows(f) {
		file := ""
		for _, text := range r.Files {
			file = text
		}
		f.Add(strings.Join(r.Args, "\x00"), strings.Join(r.Env, "\x00"), file, r.Lenient)
	}
	f.Add("guidellm\x00run\x00-c\x00x", "", "spec: &a {profile: *a}", false)
	f.Add("inference-perf\x00-c\x00x", "", "a: &a [1,1,1]\nb: [*a, *a]", true)
	f.Fuzz(func(t *testing.T, args, env, file string, lenient bool) {
		split := func(s string) []string {
			if s == "" {
				return nil
			}
			return strings.Split(s, "\x00")
		}
		read := func(path string) ([]byte, error) {
			if file == "" {
				return nil, fs.ErrNotExist
			}
			return []byte(file), nil
		}
		options := Options{Env: func() []string { return split(env) }, Files: read, Lenient: lenient}
		req, findings, err := Parse(registry.All(), split(args), options)
		if _, jsonErr := json.Marshal(req); jsonErr != nil {
			t.Fatal(jsonErr)
		}
		if key := string(req.Key); len(key) > 8 && strings.Contains(fmt.Sprint(findings), key) {
			t.Errorf("the key is in the findings")
		}
		m := req.Measure
		noLoad := len(m.Stages) == 0 && m.Search == nil
		noPrompts := m.Data.Input == nil && m.Data.Trace == nil && m.Data.File == nil
		if err == nil && (req.Endpoint == "" || noLoad || noPrompts) {
			t.Errorf("no error, but nothing to do: %q %q", req.Endpoint, line(m))
		}
	})
}

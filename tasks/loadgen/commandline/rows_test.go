package commandline

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/registry"
)

var update = flag.Bool("update", false, "rewrite testdata/*.output.json")

// row is one document of an input file: a command line, its environment and files, and which parts of the request it is
// about.
type row struct {
	Name    string            `yaml:"name"`
	Args    []string          `yaml:"args"`
	Env     []string          `yaml:"env"`
	Files   map[string]string `yaml:"files"`
	Lenient bool              `yaml:"lenient"`
	Show    []string          `yaml:"show"`
}

func (r row) parse() (tool.Request, []tool.Finding, error) {
	read := func(path string) ([]byte, error) {
		text, ok := r.Files[path]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	}
	return Parse(registry.All(), r.Args, Options{Env: func() []string { return r.Env }, Files: read, Lenient: r.Lenient})
}

func TestInputFilesBecomeTheirOutputFiles(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.input.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("looking for input files: %v, %d found", err, len(inputs))
	}
	for _, input := range inputs {
		t.Run(filepath.Base(input), func(t *testing.T) {
			var out bytes.Buffer
			for _, r := range readRows(t, input) {
				r.print(&out)
			}
			compare(t, strings.Replace(input, ".input.yaml", ".output.json", 1), out.Bytes())
		})
	}
}

func readRows(t testing.TB, file string) []row {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	for {
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

// print writes what r became: one JSON object, the parts it is about, and all that was found.
func (r row) print(out *bytes.Buffer) {
	req, findings, err := r.parse()
	m := req.Measure
	server := []any{req.Generation, req.Endpoint, req.Model, req.Key.String()}
	parts := map[string]any{
		"server": server, "api": m.API, "data": m.Data, "labels": m.Labels, "search": m.Search, "slo": req.SLO,
		"record": m.Record, "outputs": req.Outputs, "quiet": req.Quiet, "stages": m.Stages,
	}
	out.WriteString("{" + field("name", r.Name))
	for _, part := range r.Show {
		out.WriteString("," + field(part, parts[part]))
	}
	var said []string
	for _, f := range findings {
		text := f.Error()
		if !f.Warning {
			text = "error: " + text
		}
		said = append(said, "    "+line(text))
	}
	if len(said) > 0 {
		out.WriteString(",\n  \"findings\": [\n" + strings.Join(said, ",\n") + "\n  ]")
	}
	if err != nil {
		out.WriteString("," + field("failed", true))
	}
	out.WriteString("\n}\n")
}

func field(key string, x any) string { return "\n  \"" + key + "\": " + line(x) }

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
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); rewrite it with -update after a look:\n%s", file, diff)
	}
}

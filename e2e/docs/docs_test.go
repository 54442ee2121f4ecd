package docs

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bflow.dev/bflow/e2e/product"
	"bflow.dev/bflow/runplan"

	"go.yaml.in/yaml/v3"
)

func TestMain(m *testing.M) { product.Main(m) }

// elsewhere are commands that this test does not run, by how they begin, and why.
var elsewhere = []struct{ page, command, why string }{
	{"README.md", "make build", "the programs are built already"},
	{"README.md", "bin/bflow run --local examples/demo.yaml", ".ci/demo runs it"},
	{"README.md", "bin/bflow run examples/demo.yaml --follow", "e2e/cluster"},
	{"README.md", "bin/bflow bootstrap", "e2e/cluster"},
	{"README.md", "bin/bflow run experiment.yaml --follow", "e2e/cluster"},
	{"README.md", "bin/bflow import", "e2e/ends has files of other tools"},
	{"docs/guide.md", "make build", "the programs are built already"},
	{"docs/guide.md", "export PATH", "the programs are in it"},
	{"docs/guide.md", "MLFLOW_TRACKING_URI", "e2e/mlflow has a server"},
	{"docs/guide.md", "bflow logs first-20261121-055225-0fvam", "e2e/mlflow has a server"},
	{"docs/guide.md", "bflow images push", "e2e/cluster"},
	{"docs/guide.md", "bflow bootstrap", "e2e/cluster"},
	{"docs/guide.md", "bflow run first.yaml -n bench", "e2e/cluster"},
	{"docs/guide.md", "kubectl", "e2e/cluster"},
}

func TestEveryCommandOfAPageRuns(t *testing.T) {
	used, walked := map[string]bool{}, map[string]bool{}
	t.Cleanup(func() {
		for _, e := range elsewhere {
			if walked[e.page] && !used[e.page+e.command] {
				t.Errorf("%s has no command %q any more", e.page, e.command)
			}
		}
	})
	for _, page := range []string{"docs/guide.md", "docs/platforms.md", "README.md"} {
		t.Run(page, func(t *testing.T) {
			walked[page] = true
			w := newWalk(t)
			if page == "README.md" { // it speaks of a file that the reader has
				w.write("experiment.yaml", strings.Replace(w.first(t), "name: first", "name: experiment", 1))
			}
			for _, b := range blocks(t, page) {
				if b.Kind == "yaml" {
					w.file(t, b)
					continue
				}
				for _, c := range b.Commands() {
					if why := reason(page, c.Line, used); why != "" {
						w.left++
						continue
					}
					w.run(t, b, c)
				}
			}
			t.Logf("%s: %d commands ran, %d are run elsewhere, %d files are valid", page, w.ran, w.left, w.files)
		})
	}
}

func blocks(t *testing.T, page string) []Block {
	t.Helper()
	all, err := Read(page)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func reason(page, line string, used map[string]bool) string {
	for _, e := range elsewhere {
		if e.page == page && strings.HasPrefix(line, e.command) {
			used[e.page+e.command] = true
			return e.why
		}
	}
	return ""
}

// walk is somebody who follows a page.
type walk struct {
	*product.Product
	port             string // in place of 8000, which others may have
	ran, left, files int
}

func newWalk(t *testing.T) *walk {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	w := &walk{Product: product.New(t), port: fmt.Sprint(ln.Addr().(*net.TCPAddr).Port)}
	if err := os.Mkdir(filepath.Join(w.Dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(w.Path, filepath.Join(w.Dir, "bin", "bflow")); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *walk) write(name, text string) {
	w.Write(name, strings.ReplaceAll(text, ":8000", ":"+w.port))
}

// first is the first experiment of the guide.
func (w *walk) first(t *testing.T) string {
	t.Helper()
	for _, b := range blocks(t, "docs/guide.md") {
		if b.File() == "first.yaml" {
			return b.Text
		}
	}
	t.Fatal("the guide has no first.yaml")
	return ""
}

// file writes a block that is a file, and validates it; one that is a part of a spec is put into the first experiment.
func (w *walk) file(t *testing.T, b Block) {
	t.Helper()
	name, text := b.File(), b.Text
	if strings.HasPrefix(text, "  ") {
		name, text = fmt.Sprintf("part-%d.yaml", b.Line), w.whole(t, b)
	}
	if name == "" {
		t.Errorf("%s:%d: this file has no name: its first line should be # NAME.yaml", b.Page, b.Line)
		return
	}
	w.write(name, text)
	w.files++
	if name == "wrong.yaml" { // its mistakes are the next command's
		return
	}
	if got := w.Run("validate", name); got.Code != 0 {
		t.Errorf("%s:%d: bflow validate ends with %d:\n%s%s", b.Page, b.Line, got.Code, got.Out, got.Err)
	}
}

// whole is the first experiment with the fields of a part of a spec in place of its own.
func (w *walk) whole(t *testing.T, b Block) string {
	t.Helper()
	var whole, part map[string]any
	if err := yaml.Unmarshal([]byte(w.first(t)), &whole); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(b.Text), &part); err != nil {
		t.Fatalf("%s:%d: %v", b.Page, b.Line, err)
	}
	spec := whole["spec"].(map[string]any)
	for key, value := range part {
		if old, ok := spec[key].(map[string]any); ok && key == "load" { // data and stages stay where the part has none
			for k, v := range value.(map[string]any) {
				old[k] = v
			}
			_, search := old["search"]
			if _, sweep := old["sweep"]; search || sweep {
				delete(old, "stages")
			}
			continue
		}
		spec[key] = value
	}
	text, err := yaml.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// run runs a command in a shell. One that prints what the page says may end with another code than 0.
func (w *walk) run(t *testing.T, b Block, c Command) {
	t.Helper()
	w.ran++
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	line := strings.NewReplacer(":8000", ":"+w.port, "--port 8000", "--port "+w.port).Replace(c.Line)
	cmd := exec.CommandContext(t.Context(), "bash", "-eu", "-o", "pipefail", "-c", line)
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.Dir, out, out
	cmd.Env = append(os.Environ(), w.Env...)
	cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(w.Path)+":"+os.Getenv("PATH"), "BFLOW_RUNS_DIR="+w.Runs,
		"HOME="+w.Dir, "KUBECONFIG=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Run()
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // what it has put into the background
	printed, unread := os.ReadFile(out.Name())
	if unread != nil {
		t.Fatal(unread)
	}
	if err != nil && len(c.Says) == 0 {
		t.Errorf("%s:%d: %s: %v:\n%s", b.Page, b.Line, c.Line, err, printed)
	}
	if want := Missing(c.Says, string(printed)); want != "" {
		t.Errorf("%s:%d: %s does not print %q, but:\n%s", b.Page, b.Line, c.Line, want, printed)
	}
}

// TestExamplesSayHowLongTheyTake: nobody waits three hours for eight requests.
func TestExamplesSayHowLongTheyTake(t *testing.T) {
	const most = 30 * time.Minute
	p := product.New(t)
	examples, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatalf("%d examples, %v", len(examples), err)
	}
	for _, path := range examples {
		full, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		got := p.Run("plan", full, "-o", "json")
		var plans []*runplan.RunPlan
		if err := json.Unmarshal([]byte(got.Out), &plans); err != nil || got.Code != 0 {
			t.Errorf("%s: exit code %d, %v:\n%s", path, got.Code, err, got.Err)
			continue
		}
		for _, plan := range plans {
			var sum time.Duration
			for _, d := range plan.Timeouts.Measurement {
				sum += d.D()
			}
			if sum > most {
				t.Errorf("%s: its load takes up to %s, more than %s", path, sum, most)
			}
		}
	}
}

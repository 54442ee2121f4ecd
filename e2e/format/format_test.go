package format

import (
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/pipelines/check"
)

// TestRows runs the rows of every file in testdata: those that must be accepted resolve, compile to objects that a
// cluster would take, and say what the row says; the others have exactly the problems of the row.
func TestRows(t *testing.T) {
	files, err := filepath.Glob("testdata/*.rows.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("looking for rows: %v, %d files", err, len(files))
	}
	checker, err := check.New()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{checker: checker, seen: map[string]bool{}}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".rows.yaml"), func(t *testing.T) {
			for _, r := range readRows(t, file) {
				t.Run(r.Name, func(t *testing.T) { r.run(t, c) })
			}
		})
	}
}

// cluster takes objects as a real one would. Most rows compile to a Pipeline that an earlier row has shown to it; then
// it looks again only where the row speaks of objects.
type cluster struct {
	checker *check.Checker
	seen    map[string]bool // names of Pipelines, which follow their content
}

func (c *cluster) check(t *testing.T, r row, o outcome, tree map[string]any) {
	t.Helper()
	name, _ := look(t, tree, "Pipeline.metadata.name").(string)
	known := c.seen[name]
	c.seen[name] = true
	for path := range r.Want {
		known = known && !strings.HasPrefix(path, "PipelineRun") && !strings.HasPrefix(path, "ConfigMap")
	}
	compiled := o.compiled(t)
	if known {
		return
	}
	if err := c.checker.Stream(compiled); err != nil {
		t.Errorf("compiled objects: %v", err)
	}
}

func (r row) run(t *testing.T, c *cluster) {
	o := r.resolve()
	same(t, "warnings", r.Warnings, o.problems.Warnings())
	same(t, "errors", r.Errors, o.problems.Errors())
	if r.Errors != "" || t.Failed() {
		return
	}
	if want := max(r.Plans, 1); len(o.plans) != want {
		t.Fatalf("want %d plans, got %d", want, len(o.plans))
	}
	tree := o.tree(t)
	c.check(t, r, o, tree)
	for path, want := range r.Want {
		for _, diff := range differs(path, want, look(t, tree, path)) {
			t.Error(diff)
		}
	}
}

func same(t *testing.T, what, want string, list problem.List) {
	t.Helper()
	if got := text(list); got != want && got != want+"\n" {
		t.Errorf("%s: want\n%s\ngot\n%s", what, want, got)
	}
}

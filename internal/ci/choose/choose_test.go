package choose

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
)

// small is a module with a product, programs, and tests that use them.
const small = `
-- go.mod --
module example.test/small
go 1.25
-- README.md --
-- Makefile --
-- docs/page.yaml --
-- examples/one.yaml --
-- shapes/shapes.go --
package shapes

import _ "embed"

//go:embed default.yaml
var Default string
-- shapes/default.yaml --
-- shapes/notes.md --
-- shapes/shapes_test.go --
package shapes
-- shapes/testdata/round.yaml --
-- load/load.go --
package load

import _ "example.test/small/shapes"
-- load/load_windows.go --
package load
-- load/rig/rig.go --
package rig
-- load/rig/rig_test.go --
package rig

import _ "example.test/small/load"
-- cmd/tool/main.go --
package main

import _ "example.test/small/load"

func main() {}
-- other/other.go --
package other
-- bench/soak/main.go --
package main

import _ "example.test/small/bench/rig"

func main() {}
-- bench/rig/rig.go --
package rig

const builds = "example.test/small/bench/floor"
-- bench/floor/main.go --
package main

func main() {}
-- e2e/e2e_test.go --
//go:build e2e

package e2e

import "path/filepath"

var reads = []string{"../shapes/testdata/round.yaml", filepath.Join("..", "other", "golden"), "../.."}
-- e2e/prepare --
-- other/golden/a.json --
-- pages/pages.go --
package pages

import _ "embed"

//go:embed page.md
var page string
-- pages/page.md --
`

func smallRows() []Row {
	const m = "example.test/small/"
	return []Row{
		{Name: "rig", Tests: []string{m + "load/rig"}},
		{Name: "e2e", Tests: []string{m + "e2e"}, Programs: []string{m + "cmd/tool"}},
		{Name: "pages", Tests: []string{m + "pages"}},
		{Name: "soak", Programs: []string{m + "bench/soak"}},
	}
}

func TestARowRunsWhenSomethingItUsesHasChanged(t *testing.T) {
	m := write(t, small)
	for _, tt := range []struct {
		name  string
		files []string
		want  map[string]string // row to its reason
	}{
		{name: "nothing has changed"},
		{name: "a page for people is used by nothing", files: []string{"README.md", "docs/page.yaml", "shapes/notes.md"}},
		{name: "a page that is embedded is code", files: []string{"pages/page.md"},
			want: map[string]string{"pages": "pages/page.md has changed"}},
		{name: "a package changes what is built from it, tests and programs", files: []string{"shapes/shapes.go"},
			want: map[string]string{
				"rig": "shapes/shapes.go has changed, which load/rig uses",
				"e2e": "shapes/shapes.go has changed, which cmd/tool uses",
			}},
		{name: "an embedded file is code", files: []string{"shapes/default.yaml"}, want: map[string]string{
			"rig": "shapes/default.yaml has changed, which load/rig uses",
			"e2e": "shapes/default.yaml has changed, which cmd/tool uses",
		}},
		{name: "tests of a package are no part of what is built from it", files: []string{"shapes/shapes_test.go"}},
		{name: "a test changes its own row", files: []string{"load/rig/rig_test.go"},
			want: map[string]string{"rig": "load/rig/rig_test.go has changed"}},
		{name: "what only a test imports is used by the test alone", files: []string{"load/rig/rig.go"},
			want: map[string]string{"rig": "load/rig/rig.go has changed"}},
		{name: "a file of another system is of its package", files: []string{"load/load_windows.go"}, want: map[string]string{
			"rig": "load/load_windows.go has changed, which load/rig uses",
			"e2e": "load/load_windows.go has changed, which cmd/tool uses",
		}},
		{name: "a new file is of the package in whose folder it lies", files: []string{"cmd/tool/more.go"},
			want: map[string]string{"e2e": "cmd/tool/more.go has changed"}},
		{name: "a script beside a test is of that test", files: []string{"e2e/prepare"},
			want: map[string]string{"e2e": "e2e/prepare has changed"}},
		{name: "a test with a build tag is seen", files: []string{"e2e/e2e_test.go"},
			want: map[string]string{"e2e": "e2e/e2e_test.go has changed"}},
		{name: "test data that another test names", files: []string{"shapes/testdata/round.yaml"},
			want: map[string]string{"e2e": "shapes/testdata/round.yaml has changed, which e2e reads"}},
		{name: "a file in a folder that another test names", files: []string{"other/golden/a.json"},
			want: map[string]string{"e2e": "other/golden/a.json has changed, which e2e reads"}},
		{name: "a program that another names as one to build", files: []string{"bench/floor/main.go"},
			want: map[string]string{
				"soak": "bench/floor/main.go has changed, which bench/soak uses",
			}},
		{name: "a package that no row uses", files: []string{"other/other.go"}},
		{name: "what is part of no package may be used by all", files: []string{"Makefile"}, want: map[string]string{
			"rig":   "Makefile has changed, which is part of no package",
			"e2e":   "Makefile has changed, which is part of no package",
			"pages": "Makefile has changed, which is part of no package",
			"soak":  "Makefile has changed, which is part of no package",
		}},
		{name: "a package that is gone may have been used by all", files: []string{"gone/gone.go"}, want: map[string]string{
			"rig":   "gone/gone.go has changed, which is part of no package",
			"e2e":   "gone/gone.go has changed, which is part of no package",
			"pages": "gone/gone.go has changed, which is part of no package",
			"soak":  "gone/gone.go has changed, which is part of no package",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, c := range m.Choose(smallRows(), tt.files) {
				if c.Because != tt.want[c.Name] {
					t.Errorf("%s: because %q, want %q", c.Name, c.Because, tt.want[c.Name])
				}
			}
		})
	}
}

func TestARowOfAPackageThatIsUnknownRuns(t *testing.T) {
	m := write(t, small)
	got := m.Choose([]Row{{Name: "lost", Programs: []string{"example.test/small/cmd/lost"}}}, nil)
	if want := "example.test/small/cmd/lost is unknown"; got[0].Because != want {
		t.Errorf("because %q, want %q", got[0].Because, want)
	}
}

func TestAModuleThatDoesNotListIsAnError(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir,
		"-- go.mod --\nmodule example.test/broken\ngo 1.25\n-- a/a.go --\npackage a\n-- a/b.go --\npackage b\n")
	if _, err := Load(t.Context(), dir, ""); err == nil {
		t.Error("two packages in one folder were listed")
	}
}

func write(t *testing.T, archive string) *Module {
	t.Helper()
	dir := t.TempDir()
	extract(t, dir, archive)
	m, err := Load(t.Context(), dir, "e2e")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func extract(t *testing.T, dir, archive string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

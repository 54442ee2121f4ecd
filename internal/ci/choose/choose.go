package choose

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Row is something that is run or left out as one.
type Row struct {
	Name     string   // unique among the rows
	Tests    []string // packages whose test binary it runs
	Programs []string // packages that it builds, such as those of images
}

// Choice is a row and why it is run: a sentence, empty where nothing that the row uses has changed.
type Choice struct {
	Row
	Because string
}

// Choose judges each row by the names of the files that differ, relative to the root of the module. A file that is gone
// counts as well.
func (m *Module) Choose(rows []Row, files []string) []Choice {
	c := m.attribute(files)
	choices := make([]Choice, len(rows))
	for i, row := range rows {
		choices[i] = Choice{Row: row, Because: c.because(m, row)}
	}
	return choices
}

// Everything chooses every row for one reason.
func Everything(rows []Row, because string) []Choice {
	choices := make([]Choice, len(rows))
	for i, row := range rows {
		choices[i] = Choice{Row: row, Because: because}
	}
	return choices
}

// change is files by what they are part of.
type change struct {
	everywhere string            // a file that is part of no package
	code       map[string]string // package to the first file of it: whatever is built from the package has changed
	tests      map[string]string // package to the first file that only its test binary knows
	files      []string
}

// attribute finds the package of each file. A file that is neither a package's nor prose may be used by anything.
func (m *Module) attribute(files []string) change {
	c := change{code: map[string]string{}, tests: map[string]string{}, files: slices.Sorted(slices.Values(files))}
	for _, f := range c.files {
		owner, exact := m.owner(f)
		switch {
		case m.embedded(f, c.code):
		case prose(f):
		case owner == nil:
			c.everywhere = cmp.Or(c.everywhere, f)
		case exact && strings.HasSuffix(f, "_test.go"), !exact && strings.Contains(f, "/testdata/"):
			note(c.tests, owner.path, f)
		default:
			note(c.code, owner.path, f)
		}
	}
	return c
}

// owner is the package in whose folder, or below whose folder, a file lies; exact in the first case.
func (m *Module) owner(file string) (p *pkg, exact bool) {
	dir := path.Dir(file)
	if p := m.dirs[dir]; p != nil {
		return p, true
	}
	for dir != "." {
		dir = path.Dir(dir)
		if p := m.dirs[dir]; p != nil && dir != "." {
			return p, false
		}
	}
	return nil, false
}

// embedded notes a file with every package that embeds it.
func (m *Module) embedded(file string, code map[string]string) (found bool) {
	for _, p := range m.packages {
		if _, ok := p.embeds[file]; ok {
			note(code, p.path, file)
			found = true
		}
	}
	return found
}

func note(files map[string]string, pkg, file string) { files[pkg] = cmp.Or(files[pkg], file) }

// prose is what no program reads, unless it is embedded: pages for people, and the settings of tools that judge the
// source whole, which run each time.
func prose(file string) bool {
	return strings.HasPrefix(file, "docs/") || strings.HasPrefix(file, ".github/") || path.Ext(file) == ".md" ||
		slices.Contains([]string{"LICENSE", ".gitignore", ".golangci.yml"}, file)
}

// because is the first reason to run a row.
func (c change) because(m *Module, row Row) string {
	if c.everywhere != "" {
		return c.everywhere + " has changed, which is part of no package"
	}
	for _, name := range row.Programs {
		if p := m.packages[name]; p == nil {
			return name + " is unknown"
		} else if why := c.uses(p, p.uses); why != "" {
			return why
		}
	}
	for _, name := range row.Tests {
		p := m.packages[name]
		if p == nil {
			return name + " is unknown"
		}
		if f := c.tests[name]; f != "" {
			return f + " has changed"
		}
		if why := cmp.Or(c.uses(p, p.uses), c.uses(p, p.testUses), c.read(m, p)); why != "" {
			return why
		}
	}
	return ""
}

func (c change) uses(p *pkg, used []string) string {
	for _, u := range used {
		switch f := c.code[u]; {
		case f == "":
		case u == p.path:
			return f + " has changed"
		default:
			return fmt.Sprintf("%s has changed, which %s uses", f, p.dir)
		}
	}
	return ""
}

// read looks at the files that the sources of a test binary name.
func (c change) read(m *Module, p *pkg) string {
	closed := map[string]struct{}{p.path: {}}
	for _, u := range p.testUses {
		closed[u] = struct{}{}
	}
	for _, name := range slices.Sorted(maps.Keys(closed)) {
		for _, r := range m.packages[name].reads {
			if i := slices.IndexFunc(c.files, func(f string) bool { return below(f, r) }); i >= 0 {
				return fmt.Sprintf("%s has changed, which %s reads", c.files[i], m.packages[name].dir)
			}
		}
	}
	return ""
}

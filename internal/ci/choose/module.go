package choose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Module is the packages of a Go module, by import path.
type Module struct {
	packages map[string]*pkg
	dirs     map[string]*pkg // by folder, relative to the root, with slashes
}

// pkg is a package as far as a choice needs it. Paths of files are relative to the root of the module.
type pkg struct {
	path, dir string
	main      bool
	files     []string            // Go files that are no tests
	tested    bool                // it has tests
	needs     []string            // packages of the module that it imports, or names as one to build
	testNeeds []string            // the same of its tests
	uses      []string            // packages that it is built from, itself included
	testUses  []string            // packages that its test binary is built from besides
	embeds    map[string]struct{} // files in its binary
	reads     []string            // files and folders outside its own that its sources name
}

// listed is an element of the output of `go list -json`.
type listed struct {
	ImportPath, Dir, Name                                        string
	Imports, TestImports, XTestImports                           []string
	EmbedFiles                                                   []string
	GoFiles, IgnoredGoFiles, CgoFiles, TestGoFiles, XTestGoFiles []string
	Error                                                        *struct{ Err string }
}

// Load reads the packages of the module at root with the build tags given, comma-separated. It runs the go command.
func Load(ctx context.Context, root, tags string) (*Module, error) {
	root, err := filepath.Abs(root)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, fmt.Errorf("finding the module: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "list", "-e",
		"-json=ImportPath,Dir,Name,Imports,TestImports,XTestImports,EmbedFiles,"+
			"GoFiles,IgnoredGoFiles,CgoFiles,TestGoFiles,XTestGoFiles,Error", "-tags", tags, "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return nil, fmt.Errorf("listing the packages of %q: %w", root, err)
	}
	return decode(root, strings.NewReader(string(out)))
}

// decode builds the module from the output of go list.
func decode(root string, in io.Reader) (*Module, error) {
	all := map[string]listed{}
	for dec := json.NewDecoder(in); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading the list of packages: %w", err)
		}
		if l.Error != nil {
			return nil, fmt.Errorf("listing package %q: %s", l.ImportPath, l.Error.Err)
		}
		all[l.ImportPath] = l
	}
	m := &Module{packages: map[string]*pkg{}, dirs: map[string]*pkg{}}
	for _, l := range all {
		p, err := newPackage(root, l, all)
		if err != nil {
			return nil, err
		}
		m.packages[p.path], m.dirs[p.dir] = p, p
	}
	for _, p := range m.packages {
		p.uses, p.testUses = m.closure(p.path), m.closure(p.testNeeds...)
	}
	return m, nil
}

func newPackage(root string, l listed, all map[string]listed) (*pkg, error) {
	dir, err := filepath.Rel(root, l.Dir)
	if err != nil {
		return nil, fmt.Errorf("placing package %q: %w", l.ImportPath, err)
	}
	p := &pkg{path: l.ImportPath, dir: filepath.ToSlash(dir), main: l.Name == "main", embeds: map[string]struct{}{}}
	p.tested = len(l.TestGoFiles)+len(l.XTestGoFiles) > 0
	for _, f := range l.EmbedFiles {
		p.embeds[path.Join(p.dir, filepath.ToSlash(f))] = struct{}{}
	}
	code, tests := slices.Concat(l.GoFiles, l.CgoFiles, l.IgnoredGoFiles), slices.Concat(l.TestGoFiles, l.XTestGoFiles)
	for _, f := range slices.Concat(l.GoFiles, l.CgoFiles) {
		p.files = append(p.files, path.Join(p.dir, f))
	}
	named, err := p.look(l.Dir, code)
	if err != nil {
		return nil, err
	}
	namedByTests, err := p.look(l.Dir, tests)
	if err != nil {
		return nil, err
	}
	p.needs = ours(all, slices.Concat(l.Imports, named))
	p.testNeeds = ours(all, slices.Concat(l.TestImports, l.XTestImports, namedByTests))
	return p, nil
}

// look notes the files outside its folder that Go files of a package name in their strings, and returns their other
// strings: an import path among them is a package that they build or run.
func (p *pkg) look(folder string, files []string) (words []string, err error) {
	for _, f := range files {
		paths, more, err := stringsIn(filepath.Join(folder, f))
		if err != nil {
			return nil, err
		}
		words = append(words, more...)
		for _, n := range paths {
			if at := path.Join(p.dir, n); !strings.HasPrefix(at, "..") {
				p.reads = append(p.reads, at)
			}
		}
	}
	slices.Sort(p.reads)
	p.reads = slices.Compact(p.reads)
	return words, nil
}

// ours keeps the names of packages of the module.
func ours(all map[string]listed, names []string) []string {
	return slices.DeleteFunc(names, func(n string) bool { _, ok := all[n]; return !ok })
}

// closure is the packages that are needed to build some, these included, in order.
func (m *Module) closure(roots ...string) (closed []string) {
	seen := map[string]struct{}{}
	for todo := slices.Clone(roots); len(todo) > 0; {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if _, known := seen[name]; known {
			continue
		}
		seen[name] = struct{}{}
		todo = append(todo, m.packages[name].needs...)
	}
	return slices.Sorted(maps.Keys(seen))
}

// Mains returns the main packages at or below a folder, in order.
func (m *Module) Mains(under string) []string {
	return m.find(func(p *pkg) bool { return p.main && below(p.dir, under) })
}

// Packages returns all packages at or below a folder, in order.
func (m *Module) Packages(under string) []string {
	return m.find(func(p *pkg) bool { return below(p.dir, under) })
}

// Files returns the Go files of a package that are no tests, relative to the root of the module.
func (m *Module) Files(pkg string) []string { return m.packages[pkg].files }

// HasTests reports whether a package has tests, those included that need a build tag given to Load.
func (m *Module) HasTests(pkg string) bool { return m.packages[pkg].tested }

// Built returns the packages that hold more than tests, in order.
func (m *Module) Built() []string {
	return m.find(func(p *pkg) bool { return len(p.files) > 0 })
}

func (m *Module) find(is func(*pkg) bool) (found []string) {
	for name, p := range m.packages {
		if is(p) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// below reports whether a file or folder is another, or lies in it.
func below(name, folder string) bool {
	return name == folder || folder == "." || strings.HasPrefix(name, folder+"/")
}

package spec

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
)

// Catalogue holds the profiles of all folders by kind and name; of two with one name the stronger folder's counts.
// A profile is decoded when it is first asked for. Methods are safe for concurrent use.
type Catalogue struct {
	entries map[profileID]*entry
	mu      sync.Mutex
}

type profileID struct{ kind, name string }

// entry is a profile, decoded once.
type entry struct {
	doc     Doc
	decoded any // *DeploymentProfile, *BenchmarkProfile or *MetricsProfile
	found   problem.List
}

// ProfileRef is one entry of the catalogue.
type ProfileRef struct {
	Kind string
	Name string
	File string
	Root *yaml.Node
}

// Profiles lists every profile that is not hidden by a stronger one, by kind and name.
func (c *Catalogue) Profiles() []ProfileRef {
	var out []ProfileRef
	for id, e := range c.entries {
		out = append(out, ProfileRef{Kind: id.kind, Name: id.name, File: e.doc.File, Root: e.doc.Root})
	}
	slices.SortFunc(out, func(a, b ProfileRef) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// Deployment finds a DeploymentProfile. from and at say who refers to it: a document and the path there.
func (c *Catalogue) Deployment(name string, from *Doc, at string) (*DeploymentProfile, problem.List) {
	return find(c, KindDeployment, name, from, at, DecodeDeployment)
}

// Benchmark finds a BenchmarkProfile; see Deployment.
func (c *Catalogue) Benchmark(name string, from *Doc, at string) (*BenchmarkProfile, problem.List) {
	return find(c, KindBenchmark, name, from, at, DecodeBenchmark)
}

// Metrics finds a MetricsProfile; see Deployment.
func (c *Catalogue) Metrics(name string, from *Doc, at string) (*MetricsProfile, problem.List) {
	return find(c, KindMetrics, name, from, at, DecodeMetrics)
}

// find decodes a profile at first sight. Its problems come back every time: the caller lists each profile once.
func find[T any](c *Catalogue, kind, name string, from *Doc, at string,
	decode func(*Doc, *yaml.Node) (*T, problem.List)) (*T, problem.List) {
	e := c.entries[profileID{kind, name}]
	if e == nil {
		return nil, problem.List{from.Problem(at, "%s", c.missing(kind, name))}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.decoded == nil {
		e.decoded, e.found = decode(&e.doc, e.doc.Root)
	}
	return e.decoded.(*T), e.found
}

// missing is the sentence for a name that the catalogue lacks.
func (c *Catalogue) missing(kind, name string) string {
	var known []string
	for _, id := range slices.SortedFunc(maps.Keys(c.entries),
		func(a, b profileID) int { return cmp.Compare(a.name, b.name) }) {
		if id.kind == kind {
			known = append(known, id.name)
		}
	}
	hint := ""
	if near := problem.Closest(name, known, 3); len(near) > 0 {
		slices.Sort(near)
		hint = fmt.Sprintf("; closest: %q", near[0])
		for _, n := range near[1:] {
			hint += fmt.Sprintf(", %q", n)
		}
	}
	return fmt.Sprintf("no %s named %.120q%s (%d in the catalogue)", kind, name, hint, len(known))
}

// tree is one folder of profiles, or the profiles beside experiments.
type tree map[profileID]*entry

// add puts a profile into the tree; a second one of the same name is wrong.
func (t tree) add(id profileID, d Doc) problem.List {
	if first, ok := t[id]; ok {
		n := first.doc.Pos("metadata.name")
		return problem.List{d.Problem("metadata.name", "duplicate %s %q, first at %s:%d:%d", id.kind, id.name, first.doc.File,
			n.Line, n.Column)}
	}
	t[id] = &entry{doc: d}
	return nil
}

// profileKind reports whether kind is one of the catalogue.
func profileKind(kind string) bool {
	return kind == KindDeployment || kind == KindBenchmark || kind == KindMetrics
}

// readTree reads every *.yaml below fsys. Documents of other kinds are skipped; a file that is no YAML is a warning,
// because it may hold nothing that is asked for.
func (l *loader) readTree(fsys fs.FS, dir string) tree {
	t := tree{}
	err := fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !isYAML(fsys, name, e) {
			return err
		}
		data, err := readBounded(fsys, name)
		if err != nil {
			return err
		}
		l.treeFile(t, strings.TrimPrefix(path.Join(dir, name), "./"), data)
		return nil
	})
	if err != nil {
		l.found.Add(problem.Problem{File: dir, Text: "reading profiles: " + err.Error()})
	}
	return t
}

// maxFile bounds a file of profiles, which are some kilobytes.
const maxFile = 16 << 20

func readBounded(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := bounded.ReadAll(f, maxFile)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return data, nil
}

// treeFile adds the profiles of one file.
func (l *loader) treeFile(t tree, file string, data []byte) {
	roots, found := parse(file, data)
	for _, p := range found {
		p.Warning = !l.opt.CheckAll
		l.found.Add(p)
	}
	for _, root := range roots {
		kind, name := identity(root)
		if !profileKind(kind) || name == "" {
			continue
		}
		l.found.Add(t.add(profileID{kind, name}, l.document(file, root))...)
	}
}

// identity returns kind and metadata.name of a document, "" where it has none.
func identity(root *yaml.Node) (kind, name string) {
	text := func(p Path) string {
		if n := Get(root, p); n != nil && n.Kind == yaml.ScalarNode && !scalar.Null(n) {
			return strings.TrimSpace(n.Value)
		}
		return ""
	}
	return text(Path{{Key: "kind"}}), text(Path{{Key: "metadata"}, {Key: "name"}})
}

package spec

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
)

// folder reads every *.yaml below dir. Documents of no kind of ours are skipped there: a folder holds other files too.
func (l *loader) folder(dir string) {
	files := 0
	fsys := os.DirFS(dir)
	err := fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !isYAML(fsys, name, e) {
			return err
		}
		files++
		name = filepath.Join(dir, name)
		data, err := l.opt.ReadFile(name)
		if err == nil {
			l.documents(name, data, func(kind string) bool { return ourKind(kind) || len(nearKinds(kind)) > 0 })
		}
		return err
	})
	if err == nil && files == 0 {
		err = errors.New("it contains no *.yaml file")
	}
	if err != nil {
		l.found.Add(problem.Problem{File: dir, Text: "reading folder: " + cause(err)})
	}
}

// isYAML reports whether an entry of a folder is a file to read, by itself or by a link. A pipe and a device, which may
// have no end, are nobody's profile; a link to nowhere is told of when it is read.
func isYAML(fsys fs.FS, name string, e fs.DirEntry) bool {
	if e.IsDir() || path.Ext(name) != ".yaml" {
		return false
	}
	info, err := fs.Stat(fsys, name)
	return err != nil || info.Mode().IsRegular()
}

// file reads every document of one file.
func (l *loader) file(name string, data []byte) {
	if n := l.documents(name, data, func(string) bool { return true }); n == 0 {
		l.found.Add(
			problem.Problem{File: name, Text: "want a document with apiVersion, kind, metadata and spec, found nothing"})
	}
}

// documents sorts those of the wanted kinds. It returns how many there are, or why there are none.
func (l *loader) documents(name string, data []byte, wanted func(kind string) bool) int {
	roots, found := parse(name, data)
	l.found.Add(found...)
	for _, root := range roots {
		if kind, _ := identity(root); wanted(kind) {
			l.sort(l.document(name, root))
		}
	}
	return len(roots) + len(found)
}

// sort puts a document to those of its kind.
func (l *loader) sort(d Doc) {
	kind, profile := identity(d.Root)
	switch {
	case !l.header(&d, kind):
	case kind == KindExperiment:
		l.experiments = append(l.experiments, d)
	case kind == KindRunPlan:
		l.plans = append(l.plans, d)
	case profile == "": // nothing can refer to it, so say now what is wrong
		l.found.Add(decodeProfile(&d, kind)...)
	default:
		l.found.Add(l.beside.add(profileID{kind, profile}, d)...)
	}
}

func (l *loader) document(file string, root *yaml.Node) Doc {
	return Doc{File: file, Root: root, codec: l.codec, lenient: l.opt.Lenient}
}

// header checks that a document is a mapping of a known kind.
func (l *loader) header(d *Doc, kind string) bool {
	near := nearKinds(kind)
	switch {
	case d.Root.Kind != yaml.MappingNode:
		l.found.Add(problem.At(d.File, d.Root, "", "want a mapping with apiVersion, kind, metadata and spec, found %s",
			scalar.Found(d.Root)))
	case ourKind(kind):
		return true
	case kind == "":
		l.found.Add(d.Problem("kind", "required field is missing; want one of %s", strings.Join(kinds(), ", ")))
	case len(near) > 0:
		l.found.Add(d.Problem("kind", "unknown kind %q (did you mean %q?)", kind, near[0]))
	default:
		l.found.Add(d.Problem("kind", "unknown kind %q, want one of %s", kind, strings.Join(kinds(), ", ")))
	}
	return false
}

func kinds() []string {
	return []string{KindExperiment, KindDeployment, KindBenchmark, KindMetrics, KindRunPlan}
}

func ourKind(kind string) bool { return slices.Contains(kinds(), kind) }

// nearKinds are the kinds that a word with a typo may mean.
func nearKinds(word string) []string { return problem.Closest(word, kinds(), 1) }

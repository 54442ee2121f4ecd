package spec

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/platform"
)

// Options say where profiles come from and how strict reading is.
type Options struct {
	Platforms   platform.Registry                 // that profiles may name; nil = all
	Shipped     fs.FS                             // built-in catalogue, the weakest; nil = none
	ProfileDirs []string                          // further catalogues; a later one wins
	Set         []string                          // "path=value": dotted path from spec, YAML value; strongest of all
	Lenient     bool                              // an unknown key is a warning
	CheckAll    bool                              // every profile must be valid, not only those referred to
	ReadFile    func(name string) ([]byte, error) // nil = os.ReadFile; it is asked for "-" too, the standard input
}

// Set is what was loaded.
type Set struct {
	Experiments []*Experiment
	RunPlans    []*RunPlan
	Catalogue   *Catalogue
	Profiles    []Profile // of the files themselves, by kind and name
}

// Profile names one of the catalogue.
type Profile struct{ Kind, Name string }

// loader is one Load.
type loader struct {
	opt         Options
	codec       *codec
	beside      tree // profiles in the files named by the caller, the strongest
	experiments []Doc
	plans       []Doc
	found       problem.List
}

// Load reads experiments, and the profiles they refer to, from files and folders (every *.yaml below). The list holds
// every problem of every file, sorted; the Set is fit for use exactly when the list has no errors.
func Load(opt Options, paths ...string) (*Set, problem.List) {
	l := newLoader(opt)
	for _, name := range paths {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			l.folder(name)
			continue
		}
		data, err := l.opt.ReadFile(name)
		if err != nil {
			l.found.Add(problem.Problem{File: name, Text: "reading file: " + cause(err)})
			continue
		}
		l.file(name, data)
	}
	return l.finish()
}

// LoadBytes is Load for a stream of documents in memory; name stands for its file in problems.
func LoadBytes(opt Options, name string, data []byte) (*Set, problem.List) {
	l := newLoader(opt)
	l.file(name, data)
	return l.finish()
}

func newLoader(opt Options) *loader {
	if opt.ReadFile == nil {
		opt.ReadFile = os.ReadFile
	}
	return &loader{opt: opt, codec: newCodec(opt.Platforms), beside: tree{}}
}

// cause is the reason without the path, which the problem names already.
func cause(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}

// finish builds the catalogue, decodes everything that counts and sorts the problems.
func (l *loader) finish() (*Set, problem.List) {
	set := &Set{Catalogue: l.catalogue()}
	for id := range l.beside {
		set.Profiles = append(set.Profiles, Profile{id.kind, id.name})
	}
	slices.SortFunc(set.Profiles, func(a, b Profile) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	flags := l.parseFlags()
	refs := references{catalogue: set.Catalogue, seen: map[profileID]bool{}}
	for i := range l.experiments {
		e := l.experiment(&l.experiments[i], flags)
		refs.experiment(e)
		set.Experiments = append(set.Experiments, e)
	}
	for i := range l.plans {
		set.RunPlans = append(set.RunPlans, l.runPlan(&l.plans[i]))
	}
	if l.opt.CheckAll {
		refs.all()
	}
	l.found.Add(refs.found...)
	l.found.Sort()
	return set, l.found
}

// catalogue lays the trees over each other, the weakest first.
func (l *loader) catalogue() *Catalogue {
	c := &Catalogue{entries: map[profileID]*entry{}}
	var trees []tree
	if l.opt.Shipped != nil {
		trees = append(trees, l.readTree(l.opt.Shipped, "shipped"))
	}
	for _, dir := range l.opt.ProfileDirs {
		trees = append(trees, l.readTree(os.DirFS(dir), dir))
	}
	for _, t := range append(trees, l.beside) {
		for id, e := range t {
			c.entries[id] = e
		}
	}
	return c
}

func (l *loader) experiment(d *Doc, flags []setting) *Experiment {
	l.found.Add(d.apply(flags)...)
	e, found := DecodeExperiment(d, d.Root)
	l.found.Add(found...)
	l.found.Add(e.checkMatrix()...)
	l.found.Add(e.checkModelKeys()...)
	return e
}

// Package stack holds the releases of serving stacks: which images belong together, and what the endpoint picker among
// them can be configured by. A release is one embedded file. Package stack must not know objects of Kubernetes.
package stack

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
)

//go:embed releases/*.yaml
var files embed.FS

// Stack is one release.
type Stack struct {
	// Base is the file of another release, whose values hold where this one says nothing.
	Base   string   `yaml:"base"`
	Name   string   `yaml:"name"`   // as messages name it
	Refs   []string `yaml:"refs"`   // that a file may name it by
	Images Images   `yaml:"images"` // of its parts
	Picker Picker   `yaml:"picker"`
	// Paths are ways to route requests, by name.
	Paths map[string]Path `yaml:"paths"`
}

// Images are those of the parts of a stack, unless a file names others.
type Images struct {
	Engine string `yaml:"engine"` // vLLM
	Picker string `yaml:"picker"` // the endpoint picker
	Proxy  string `yaml:"proxy"`  // Envoy, which asks it
}

// Path is a way to route requests, and what model servers need for it.
type Path struct {
	Guide  string   `yaml:"guide"`  // of llm-d, in labels
	Config string   `yaml:"config"` // of the endpoint picker: an EndpointPickerConfig as YAML
	Args   []string `yaml:"args"`   // of vLLM, each in one piece; a file may set the same flag otherwise
}

// Missing are those arguments of vLLM that a path needs and that a command line does not set.
func (p Path) Missing(line []string) (missing []string) {
	flag := func(arg string) string {
		name, _, _ := strings.Cut(arg, "=")
		return strings.ReplaceAll(name, "_", "-")
	}
	for _, arg := range p.Args {
		if !slices.ContainsFunc(line, func(set string) bool { return flag(set) == flag(arg) }) {
			missing = append(missing, arg)
		}
	}
	return missing
}

// Releases are the stacks of a product, the newest first.
func Releases(product string) []Stack { return releases()[product] }

// Of returns the stack of a product that a ref names.
func Of(product, ref string) (Stack, error) {
	var known []string
	for _, s := range Releases(product) {
		if slices.Contains(s.Refs, ref) {
			return s, nil
		}
		known = append(known, s.Refs...)
	}
	return Stack{}, fmt.Errorf("unknown release %q of %s%s; use one of %s", ref, product, problem.Nearest(ref, known),
		strings.Join(known, ", "))
}

// releases reads the embedded files; each is one of what was built, so that it cannot be wrong.
//
//nolint:gochecknoglobals // constants, never written
var releases = sync.OnceValue(func() map[string][]Stack {
	names, err := fs.Glob(files, "releases/*.yaml")
	if err != nil {
		panic(err)
	}
	slices.Sort(names)
	slices.Reverse(names)
	all := map[string][]Stack{}
	for _, name := range names {
		product, _, _ := strings.Cut(path.Base(name), "_")
		s, err := read(name)
		if err != nil {
			panic(err)
		}
		all[product] = append(all[product], s)
	}
	return all
})

// read reads a release over the one that it is based on.
func read(name string) (Stack, error) {
	text, err := files.ReadFile(name)
	if err != nil {
		return Stack{}, fmt.Errorf("reading stack %s: %w", name, err)
	}
	var head struct {
		Base string `yaml:"base"`
	}
	var s Stack
	if err = yaml.Unmarshal(text, &head); err == nil && head.Base != "" {
		if s, err = read(path.Join(path.Dir(name), head.Base)); err != nil {
			return s, err
		}
	}
	if err == nil {
		dec := yaml.NewDecoder(bytes.NewReader(text))
		dec.KnownFields(true)
		err = dec.Decode(&s)
	}
	if err != nil {
		return s, fmt.Errorf("reading stack %s: %w", name, err)
	}
	for _, plugin := range s.Picker.Removed {
		delete(s.Picker.Plugins, plugin)
	}
	return s, nil
}

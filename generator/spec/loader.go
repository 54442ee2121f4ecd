package spec

import (
	"io/fs"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/generator/problem"
)

// Options say where profiles come from and how strict reading is.
type Options struct {
	Shipped     fs.FS                             // built-in catalogue, the weakest; nil = none
	ProfileDirs []string                          // further catalogues; a later one wins
	Set         []string                          // "path=value": dotted path from spec, YAML value; strongest of all
	Lenient     bool                              // an unknown key is a warning
	CheckAll    bool                              // every profile must be valid, not only those referred to
	ReadFile    func(name string) ([]byte, error) // nil = os.ReadFile; "-" is passed on as a name
}

// Set is what was loaded.
type Set struct {
	Experiments []*Experiment
	RunPlans    []*RunPlan
	Catalogue   *Catalogue
}

// Load reads files and folders of experiments and the profiles they refer to. The list holds every problem of every
// file, sorted; the Set is complete exactly when the list has no errors.
func Load(opt Options, paths ...string) (*Set, problem.List) { panic("not yet") }

// LoadBytes is Load for one document stream that is already in memory; name is its file name in problems.
func LoadBytes(opt Options, name string, data []byte) (*Set, problem.List) { panic("not yet") }

// DecodeExperiment decodes and validates a changed tree of an experiment (see With). d is the document it came from.
func DecodeExperiment(d *Doc, root *yaml.Node) (*Experiment, problem.List) { panic("not yet") }

// DecodeDeployment decodes and validates a changed tree of a profile.
func DecodeDeployment(d *Doc, root *yaml.Node) (*DeploymentProfile, problem.List) { panic("not yet") }

// DecodeBenchmark decodes and validates a changed tree of a profile.
func DecodeBenchmark(d *Doc, root *yaml.Node) (*BenchmarkProfile, problem.List) { panic("not yet") }

// DecodeMetrics decodes and validates a changed tree of a profile.
func DecodeMetrics(d *Doc, root *yaml.Node) (*MetricsProfile, problem.List) { panic("not yet") }

// Pos returns the node at a dotted path from the document's root, such as spec.model.name[1], or the nearest
// node above it that exists. Every node knows its line and column.
func (d *Doc) Pos(path string) *yaml.Node { panic("not yet") }

// Problem is a problem at a dotted path of the document.
func (d *Doc) Problem(path, format string, args ...any) problem.Problem { panic("not yet") }

// Path is a parsed dotted path: overrides.runtime.env.SEED, load.stages[0].rate, labels["a.b/c"].
type Path []Seg

// Seg is a key, or an index when Key is empty.
type Seg struct {
	Key   string
	Index int
}

// ParsePath parses a dotted path.
func ParsePath(s string) (Path, error) { panic("not yet") }

// Get returns the node at p below root, nil when there is none.
func Get(root *yaml.Node, p Path) *yaml.Node { panic("not yet") }

// With returns root with the value at p replaced whole. It copies the nodes along the path only; root is not modified.
// Missing mappings are made; an index must exist or be the next one.
func With(root *yaml.Node, p Path, value *yaml.Node) (*yaml.Node, error) { panic("not yet") }

// Catalogue holds the profiles by kind and name.
type Catalogue struct{}

// Deployment finds and decodes a DeploymentProfile. ref is where it is named (for problems): a document and a path in it.
func (c *Catalogue) Deployment(name string, from *Doc, path string) (*DeploymentProfile, problem.List) {
	panic("not yet")
}

// Benchmark finds and decodes a BenchmarkProfile.
func (c *Catalogue) Benchmark(name string, from *Doc, path string) (*BenchmarkProfile, problem.List) {
	panic("not yet")
}

// Metrics finds and decodes a MetricsProfile.
func (c *Catalogue) Metrics(name string, from *Doc, path string) (*MetricsProfile, problem.List) {
	panic("not yet")
}

// Profiles lists every profile of the catalogue, by kind and name.
func (c *Catalogue) Profiles() []ProfileRef { panic("not yet") }

// ProfileRef is one entry of the catalogue.
type ProfileRef struct {
	Kind, Name, File string
	Root             *yaml.Node
}

// MergeEngine returns over merged onto base by key; either may be nil.
func MergeEngine(base, over *Engine) *Engine { panic("not yet") }

package plan

import "bflow.dev/bflow/platform"

// Undeployable is a way to deal with plans that nothing can carry out.
type Undeployable int

// Ways to deal with them.
const (
	IgnoreUndeployable Undeployable = iota
	WarnUndeployable                // for who only looks at plans
	RejectUndeployable              // for who runs them
)

// DefaultMaxPoints is how many runs an experiment may have unless the caller says otherwise.
const DefaultMaxPoints = 10_000

// Options are what a plan depends on besides files. The zero value is ready to use.
type Options struct {
	MaxPoints   int               // runs of one experiment, repeats counted; 0 = DefaultMaxPoints
	Pins        map[string]string // image reference -> sha256:...; strongest, see ParsePins
	Lock        Lock              // images by digest, weakest
	ImagePrefix string            // task images are PREFIX/NAME:VERSION; "" = those of the lock
	Version     string            // of bflow, for ImagePrefix
	Lenient     bool              // unknown keys of tool blocks are warnings
	Namespace   string            // where runs go; "" = as their experiments say
	Submitted   bool              // the plans are for a cluster: what only this machine has is an error
	Platforms   platform.Registry // that profiles may name; nil = all

	// Undeployable is what becomes of plans whose platform bflow cannot deploy yet.
	Undeployable Undeployable

	// FindTool says why another load tool cannot be run here: its name, and the virtual environment that a file names.
	// nil = the plans are not run at once, and nobody looks.
	FindTool func(tool, venv string) error
}

func (o Options) maxPoints() int {
	if o.MaxPoints > 0 {
		return o.MaxPoints
	}
	return DefaultMaxPoints
}

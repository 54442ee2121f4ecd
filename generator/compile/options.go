package compile

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Platforms a run may be compiled for.
const (
	Kubernetes = "kubernetes"
	OpenShift  = "openshift"
)

// DefaultImagePrefix is that of images which were built here and loaded into a node.
const DefaultImagePrefix = "localhost/bflow"

// Options are what a compilation depends on besides the plan. The zero value is ready to use.
type Options struct {
	Version      string // of bflow; names the images that a plan leaves open
	Input        string // what the plans were made from, such as "sha256:..."; only shown in the header
	Platform     string // Kubernetes (default) or OpenShift
	ImagePrefix  string // images are PREFIX/BINARY:VERSION where the plan names none; "" = DefaultImagePrefix
	Bundle       string // REF@sha256:... of a bundle that holds the Tasks; "" = Tasks are emitted
	ResultsClaim string // PersistentVolumeClaim shared by runs; "" = a volume per run
	NoQueue      bool   // start at once instead of waiting for Kueue
	OneHost      bool   // everything runs on one host, whatever target the plan names
	Matrix       bool   // several plans of one experiment become a matrix; of Write and WriteDir only
	BflowImage   string // image of binary bflow, for the tasks around a matrix; "" = PREFIX/bflow:VERSION

	// NodeSelector chooses the nodes of task pods, which need no GPU: the load should not share a node with the engine.
	NodeSelector map[string]string
	// LoadCPU is what a load-gen step asks for, as a quantity of cores; "" = what its Task says. A small machine has no
	// room for more, and a load generator that waits for a core measures itself.
	LoadCPU string
}

var bundleByDigest = regexp.MustCompile(`^[^@\s]+@sha256:[0-9a-f]{64}$`)

// check returns o with its defaults filled in.
func (o Options) check() (Options, error) {
	if o.Platform == "" {
		o.Platform = Kubernetes
	}
	if o.Platform != Kubernetes && o.Platform != OpenShift {
		return o, fmt.Errorf("compiling for platform %q: want %q or %q", o.Platform, Kubernetes, OpenShift)
	}
	if o.Bundle != "" && !bundleByDigest.MatchString(o.Bundle) {
		return o, fmt.Errorf("compiling for bundle %q: name it by digest, as REF@sha256:<64 hex digits>", o.Bundle)
	}
	if o.LoadCPU != "" {
		if _, err := resource.ParseQuantity(o.LoadCPU); err != nil {
			return o, fmt.Errorf("compiling for a load generator of %q cores: want a quantity such as 500m or 2: %w", o.LoadCPU,
				err)
		}
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.ImagePrefix == "" {
		o.ImagePrefix = DefaultImagePrefix
	}
	o.ImagePrefix = strings.TrimRight(o.ImagePrefix, "/")
	return o, nil
}

// tag is the version as an image tag and label value: both refuse the "+" of a build's metadata.
func (o Options) tag() string { return Tag(o.Version) }

// Tag is a version of bflow as compiled objects, image tags and bundles name it.
func Tag(version string) string { return labelValue(version) }

// labelValue returns s with what a label value cannot hold as "-", cut to 63 characters.
func labelValue(s string) string {
	clean := strings.Map(func(r rune) rune {
		if isAlphanumeric(r) || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, s)
	clean = strings.TrimLeft(clean, "-_.")
	return strings.TrimRight(clean[:min(len(clean), 63)], "-_.")
}

func isAlphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

package component

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/mirror"
	"bflow.dev/bflow/bootstrap/objects"
)

// Component is one thing that an installation can have. A value is for one look at one cluster: it keeps what Detect
// finds for Render.
type Component interface {
	// Definition says what is known without a cluster.
	Definition() Definition
	// Detect reads what Render depends on. It is not called where there is no cluster to ask.
	Detect(ctx context.Context, c detect.Cluster, api detect.API) error
	// Render returns what the cluster is to have, as often as it is called.
	Render(s Site) (Output, error)
}

// Definition names a component and what can be set about it.
type Definition struct {
	Name    string // in progress, status and errors
	Part    string // key of its objects in the inventory; "" where it has only a piece of bflow's objects
	Version string // "" = that of bflow
	Flags   []Flag // settings of its own

	// DrainFirst deletes the objects of its CRDs before its controller, which alone takes their finalizers off.
	DrainFirst bool
}

// Existing is a component that somebody else may have installed already. It is then left alone, unless it is adopted.
type Existing interface {
	Component
	// Installed says who has installed it.
	Installed() detect.Install
	// Check judges an installation of somebody else. It returns notes for the person who installs bflow, and an error
	// if that installation will not do.
	Check() (notes []string, err error)
}

var (
	_ Existing = (*Tekton)(nil)
	_ Existing = (*Kueue)(nil)
)

// Output is what a cluster is to have of a component. The zero value is nothing: what was there of it is deleted.
type Output struct {
	Objects []*unstructured.Unstructured // of its part
	Ready   apply.Condition              // of each object, for installation and status; nil = apply.Ready
	Probe   *unstructured.Unstructured   // never made: the answer to a dry run proves that the webhooks work
	Answer  apply.Condition              // of Probe; nil when any answer will do

	Piece objects.Piece // rendered with the objects of bflow
}

// Site is what components are rendered for: a cluster, and the options of the installation.
type Site struct {
	Cluster    detect.Found
	Version    string            // of bflow
	Namespaces []string          // of runs
	Overlay    string            // "" = by the platform
	Image      string            // of the controller; "" = by Version
	Client     string            // image of bflow; "" = beside Image
	LoadNodes  map[string]string // node selector of task pods; nil = as detected
	Controller []string          // more flags of the controller
	Mirror     mirror.Mirror     // where images come from
	Settings   Settings          // of the components
	Pieces     []objects.Piece   // of the components before bflow itself
}

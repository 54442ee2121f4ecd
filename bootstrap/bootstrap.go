package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/bootstrap/upstream"
	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/runplan/contract"
)

// Options configures an installation. The zero value, with a Version, installs everything that is missing.
type Options struct {
	Version string // of bflow
	// of runs, in addition to those of the installation; none at all = objects.DefaultNamespace
	Namespaces []string
	Overlay    string            // a folder of package overlays; "" = by the platform
	Image      string            // of the controller; "" = by Version
	Client     string            // image of bflow itself; "" = beside Image
	LoadNodes  map[string]string // node selector of task pods; nil = nodes without GPUs where there are some
	Controller []string          // more flags of the controller; nil = none
	Registry   string            // of a mirror; see package mirror
	ImageMap   map[string]string
	Digests    map[string]string         // of images of Tekton and Kueue, by reference with tag
	Components component.Settings        // settings of components; those that are not set stay as before
	Targets    map[string]TargetSettings // other than the hub; always those of the installation

	Adopt   bool          // take over a Tekton and a Kueue that somebody else installed
	Force   bool          // take fields that somebody else owns
	Upgrade bool          // to another version than the installed one
	Timeout time.Duration // for each component to become ready; 0 = 5 minutes
}

const defaultTimeout = 5 * time.Minute

// settings returns what the inventory keeps of the options for later calls.
func (o Options) settings(parts []Part) Settings {
	s := Settings{Versions: map[string]string{}, Namespaces: o.Namespaces, Overlay: o.Overlay, Image: o.Image,
		Client:   o.Client,
		Registry: o.Registry, ImageMap: o.ImageMap, Digests: o.Digests, LoadNodes: o.LoadNodes, Controller: o.Controller,
		Components: o.Components, Targets: o.Targets}
	for _, p := range parts {
		s.Versions[p.Key] = p.Version
	}
	return s
}

// Validate checks the options without asking the cluster.
func (o Options) Validate() error {
	var problems []error
	for _, n := range o.Namespaces {
		if wrong := validation.IsDNS1123Label(n); len(wrong) > 0 {
			problems = append(problems, fmt.Errorf("namespace %q: %s", n, wrong[0]))
		}
		if n == contract.NamespaceSystem || n == upstream.TektonNamespace || n == upstream.KueueNamespace ||
			strings.HasPrefix(n, "kube-") {
			problems = append(problems, fmt.Errorf("namespace %q is reserved and cannot hold runs", n))
		}
	}
	return errors.Join(problems...)
}

// Resume fills in what the options leave open from an earlier installation.
func (o Options) Resume(s Settings) Options {
	if len(o.Namespaces) == 0 {
		o.Namespaces = s.Namespaces
	}
	if o.Overlay == "" {
		o.Overlay = s.Overlay
	}
	if o.Image == "" {
		o.Image = s.Image
		if o.Client == "" { // the two images belong together
			o.Client = s.Client
		}
	}
	if o.Registry == "" {
		o.Registry = s.Registry
	}
	if o.ImageMap == nil {
		o.ImageMap = s.ImageMap
	}
	if o.Digests == nil {
		o.Digests = s.Digests
	}
	if o.LoadNodes == nil {
		o.LoadNodes = s.LoadNodes
	}
	o.Controller = mergeFlags(s.Controller, o.Controller)
	o.Components = o.Components.Over(s.Components)
	if o.Targets == nil {
		o.Targets = s.Targets
	}
	return o
}

// mergeFlags returns the earlier flags without those that are given again, and then the new ones.
func mergeFlags(before, anew []string) []string {
	name := func(flag string) string {
		name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		return name
	}
	stay := slices.DeleteFunc(slices.Clone(before), func(old string) bool {
		return slices.ContainsFunc(anew, func(flag string) bool { return name(flag) == name(old) })
	})
	return append(stay, anew...)
}

// followImage changes the image of the controller with an upgrade, if its tag was the version.
func (o Options) followImage(s Settings) (Options, error) {
	was := s.Versions[partBflow]
	if !o.Upgrade || o.Image != "" || s.Image == "" || was == o.Version {
		return o, nil
	}
	name, tagged := strings.CutSuffix(s.Image, ":"+was)
	if !tagged {
		return o,
			fmt.Errorf(
				"upgrading bflow %s to %s: the controller's image was named %q; name the new one with --controller-image, "+
					"--image-prefix or --lock",
				was, o.Version, s.Image)
	}
	o.Image = name + ":" + o.Version
	return o, nil
}

func (o Options) withDefaults() Options {
	if len(o.Namespaces) == 0 {
		o.Namespaces = []string{objects.DefaultNamespace}
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	return o
}

// Hub is a cluster that bflow is installed on.
type Hub struct {
	cluster *apply.Cluster
	asked   detect.Cluster
	out     printer

	components func() []component.Component // returns new ones for every survey
}

// Connect returns the cluster of cfg; it opens no connection yet. Progress is printed to log, a line per step.
func Connect(cfg *kube.Config, log io.Writer) (*Hub, error) {
	api, err := kube.New(cfg, "")
	if err != nil {
		return nil, err
	}
	return New(api, log)
}

// New returns the cluster that a client leads to.
func New(api *kube.Client, log io.Writer) (*Hub, error) {
	cluster, err := apply.New(api)
	if err != nil {
		return nil, err
	}
	return &Hub{cluster: cluster, asked: detect.Cluster{Client: api}, out: printer{log}, components: component.All}, nil
}

// survey is what is known before anything is changed.
type survey struct {
	options    Options
	found      detect.Found
	components []component.Component // after Detect
	inventory  Inventory
	parts      []Part   // what is to be installed
	adopted    []string // parts that are being taken over
	beside     []string // namespaces of runs that stay though the options do not name them
}

// look detects what the cluster is and renders what is to be on it.
func (h *Hub) look(ctx context.Context, o Options) (survey, error) {
	all := h.components()
	found, err := h.detect(ctx, all)
	if err != nil {
		return survey{}, fmt.Errorf("looking at the cluster: %w", err)
	}
	inv, err := ReadInventory(ctx, h.cluster)
	if err != nil {
		return survey{}, err
	}
	if o, err = o.followImage(inv.Settings); err != nil {
		return survey{}, err
	}
	asked := o.Namespaces
	o = o.Resume(inv.Settings).withDefaults()
	var beside []string
	if inv.hasController() {
		o.Namespaces, beside = joinNamespaces(inv.Settings.Namespaces, asked)
	}
	parts, err := render(o, all, found, inv)
	s := survey{options: o, found: found, components: all, inventory: inv, parts: parts, beside: beside}
	for _, p := range parts {
		if o.Adopt && p.Key != partBflow && len(inv.Parts[p.Key]) == 0 {
			s.adopted = append(s.adopted, p.Key)
		}
	}
	return s, err
}

// detect reads what the cluster is, and lets every component detect what it depends on.
func (h *Hub) detect(ctx context.Context, all []component.Component) (detect.Found, error) {
	api, err := h.asked.API()
	if err != nil {
		return detect.Found{}, h.asked.Client.Explain(err)
	}
	found, err := detect.Of(ctx, h.asked, api)
	problems := []error{err}
	for _, c := range all {
		problems = append(problems, c.Detect(ctx, h.asked, api))
	}
	return found, errors.Join(problems...)
}

// joinNamespaces returns the namespaces of an installation and those that are asked for, each once. The second result
// has those that stay though others are asked for: only RemoveNamespace, which drains it, takes a namespace away.
func joinNamespaces(have, asked []string) (all, beside []string) {
	all = slices.Clone(have)
	for _, n := range asked {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	if len(asked) > 0 {
		beside = slices.DeleteFunc(slices.Clone(have), func(n string) bool { return slices.Contains(asked, n) })
	}
	return all, beside
}

// printer prints progress, a line per step.
type printer struct{ to io.Writer }

// done prints a finished step, such as "✓ Tekton v1.13.1 (99 objects, 12 s)".
func (p printer) done(format string, args ...any) { fmt.Fprintf(p.to, "✓ "+format+"\n", args...) }

// note prints something worth knowing.
func (p printer) note(format string, args ...any) { fmt.Fprintf(p.to, "• "+format+"\n", args...) }

// waiting prints what a step waits for, each reason once.
func (p printer) waiting(reason string) { fmt.Fprintf(p.to, "  %s\n", strings.TrimSpace(reason)) }

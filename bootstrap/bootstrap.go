// Package bootstrap installs the prerequisites of runs on a cluster (Tekton, Kueue, and bflow's own objects), checks
// the installation, upgrades it and uninstalls it. It must not know experiments, and of runs only how to end them.
package bootstrap

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/bootstrap/upstream"
	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/runplan/contract"
)

// Options configures an installation. The zero value plus a Version installs everything that is missing.
type Options struct {
	Version         string                      // of bflow
	Namespaces      []string                    // for runs, added to the existing ones; if there are none, objects.DefaultNamespace
	Overlay         string                      // folder of package overlays; "" = chosen by platform
	Image           string                      // of the controller; "" = derived from Version
	Client          string                      // image of bflow itself; "" = derived from Image
	LoadNodes       map[string]string           // node selector of task pods; nil = nodes without GPUs, if there are any
	Controller      []string                    // additional flags of the controller; nil = none
	Prometheus      []contract.PrometheusServer // that get a token; nil = Thanos on OpenShift, otherwise none
	DevicePods      string                      // who may create pods that request devices: objects.DevicesOfRuns (default) or objects.DevicesOfAnyone
	NetworkPolicies *bool                       // for pods of bflow; nil = unchanged, initially none
	Replicas        int                         // of the controller; 0 = one
	Registry        string                      // of a mirror; see package mirror
	ImageMap        map[string]string
	Digests         map[string]string         // of images of Tekton and Kueue, by their references by tag
	Targets         map[string]TargetSettings // other than the hub; always those of the installation

	Adopt   bool          // take over Tekton and Kueue from others who installed them
	Force   bool          // take ownership of fields of other field managers
	Upgrade bool          // the version may differ from the installed one
	Timeout time.Duration // for each component to become ready; 0 = 5 minutes
}

const defaultTimeout = 5 * time.Minute

// settings are the options that are stored for the next call.
func (o Options) settings(all []Component) Settings {
	s := Settings{Versions: map[string]string{}, Namespaces: o.Namespaces, Overlay: o.Overlay, Image: o.Image, Client: o.Client,
		Registry: o.Registry, ImageMap: o.ImageMap, Digests: o.Digests, LoadNodes: o.LoadNodes,
		Controller: o.Controller, Replicas: o.Replicas, Prometheus: o.Prometheus, DevicePods: o.DevicePods,
		NetworkPolicies: o.NetworkPolicies, Targets: o.Targets}
	for _, c := range all {
		s.Versions[c.Part] = c.Version
	}
	return s
}

// Validate returns an error for every invalid option.
func (o Options) Validate() error {
	var problems []error
	for _, n := range o.Namespaces {
		if wrong := validation.IsDNS1123Label(n); len(wrong) > 0 {
			problems = append(problems, fmt.Errorf("namespace %q: %s", n, wrong[0]))
		}
		if n == contract.NamespaceSystem || n == upstream.TektonNamespace || n == upstream.KueueNamespace || strings.HasPrefix(n, "kube-") {
			problems = append(problems, fmt.Errorf("namespace %q is reserved and cannot hold runs", n))
		}
	}
	for _, s := range o.Prometheus {
		problems = append(problems, checkServer(s))
	}
	if d := o.DevicePods; d != "" && d != objects.DevicesOfRuns && d != objects.DevicesOfAnyone {
		problems = append(problems, fmt.Errorf("--device-pods %q: it is %s or %s", d, objects.DevicesOfRuns, objects.DevicesOfAnyone))
	}
	if o.Replicas < 0 {
		problems = append(problems, fmt.Errorf("%d replicas of the controller: want 1 or more", o.Replicas))
	}
	return errors.Join(problems...)
}

// checkServer refuses an address at which a token could be read on its way, and an authority that is none.
func checkServer(s contract.PrometheusServer) error {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("address %q of a Prometheus server: want https://HOST[:PORT][/PATH], because a token is sent to it", credential.URL(s.URL))
	}
	if s.CA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(s.CA)) {
		return fmt.Errorf("CA of Prometheus server %s: it contains no certificate; want PEM", s.URL)
	}
	return nil
}

// Resume fills unset options from an earlier installation.
func (o Options) Resume(s Settings) Options {
	if len(o.Namespaces) == 0 {
		o.Namespaces = s.Namespaces
	}
	if o.Overlay == "" {
		o.Overlay = s.Overlay
	}
	if o.Image == "" {
		o.Image = s.Image
		if o.Client == "" { // the two belong together
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
	o.Controller = overlaid(s.Controller, o.Controller)
	if o.Prometheus == nil {
		o.Prometheus = s.Prometheus
	}
	if o.DevicePods == "" {
		o.DevicePods = s.DevicePods
	}
	if o.Replicas == 0 {
		o.Replicas = s.Replicas
	}
	if o.NetworkPolicies == nil {
		o.NetworkPolicies = s.NetworkPolicies
	}
	if o.Targets == nil {
		o.Targets = s.Targets
	}
	return o
}

// overlaid are the flags of before, but those that are given anew, and then these.
func overlaid(before, anew []string) []string {
	name := func(flag string) string {
		name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		return name
	}
	stay := slices.DeleteFunc(slices.Clone(before), func(old string) bool {
		return slices.ContainsFunc(anew, func(flag string) bool { return name(flag) == name(old) })
	})
	return append(stay, anew...)
}

// follow lets the image of the controller go along with an upgrade, where its tag was the version.
func (o Options) follow(s Settings) (Options, error) {
	was := s.Versions[partBflow]
	if !o.Upgrade || o.Image != "" || s.Image == "" || was == o.Version {
		return o, nil
	}
	name, tagged := strings.CutSuffix(s.Image, ":"+was)
	if !tagged {
		return o, fmt.Errorf("upgrading bflow %s to %s: the controller's image was named %q; name the new one with --controller-image, --image-prefix or --lock",
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

// Hub is a cluster that bflow is installed on, with a log for progress.
type Hub struct {
	cluster *apply.Cluster
	asked   detect.Cluster
	log     io.Writer
}

// Connect returns the cluster of cfg; it opens no connection yet. Progress goes to log, a line per step.
func Connect(cfg *rest.Config, log io.Writer) (*Hub, error) {
	cluster, err := apply.Connect(cfg)
	if err != nil {
		return nil, err
	}
	asked, err := detect.Connect(cfg)
	if err != nil {
		return nil, err
	}
	return &Hub{cluster: cluster, asked: asked, log: log}, nil
}

// survey is what is known before anything is done.
type survey struct {
	options    Options
	found      detect.Found
	inventory  Inventory
	components []Component
	adopted    []string // parts that are taken over now
	beside     []string // namespaces of runs that stay though the options name only others
}

// look finds out what the cluster is and what is to be on it.
func (h *Hub) look(ctx context.Context, o Options) (survey, error) {
	found, err := detect.Of(ctx, h.asked)
	if err != nil {
		return survey{}, fmt.Errorf("looking at the cluster: %w", err)
	}
	inv, err := ReadInventory(ctx, h.cluster)
	if err != nil {
		return survey{}, err
	}
	if o, err = o.follow(inv.Settings); err != nil {
		return survey{}, err
	}
	asked := o.Namespaces
	o = o.Resume(inv.Settings).withDefaults()
	var beside []string
	if inv.hasController() {
		o.Namespaces, beside = joined(inv.Settings.Namespaces, asked)
	}
	all, err := components(o, found, inv)
	s := survey{options: o, found: found, inventory: inv, components: all, beside: beside}
	for _, c := range all {
		if o.Adopt && c.Part != partBflow && len(inv.Parts[c.Part]) == 0 {
			s.adopted = append(s.adopted, c.Part)
		}
	}
	return s, err
}

// joined are the namespaces of an installation and those that are asked for, each once, and beside those that are not
// asked for though others are: a team's namespace goes by RemoveNamespace only, which drains it.
func joined(have, asked []string) (all, beside []string) {
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

// done prints a step that is over, in the manner of "✓ Tekton v1.13.1 (99 objects, 12 s)".
func (h *Hub) done(format string, args ...any) { fmt.Fprintf(h.log, "✓ "+format+"\n", args...) }

// note prints something worth knowing.
func (h *Hub) note(format string, args ...any) { fmt.Fprintf(h.log, "• "+format+"\n", args...) }

// waiting prints what a step waits for, each new reason once.
func (h *Hub) waiting(reason string) { fmt.Fprintf(h.log, "  %s\n", strings.TrimSpace(reason)) }

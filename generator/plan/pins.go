package plan

import (
	"fmt"
	"slices"
	"strings"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/platform/engine"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runplan/literal"
)

// pinner gives names their immutable form and records which it used. It asks no registry: what is not in the
// options, the experiment or the lock stays as it is, and is remembered as unpinned.
type pinner struct {
	opt      *Options
	pins     *spec.Pins
	used     runplan.Pins
	unpinned []string
}

func newPinner(opt *Options, pins *spec.Pins) *pinner {
	if pins == nil {
		pins = &spec.Pins{}
	}
	return &pinner{opt: opt, pins: pins}
}

// apply pins every name in p and records the pins there.
func (n *pinner) apply(p *runplan.RunPlan) {
	d := &p.Deployment
	if d.Endpoint == nil {
		n.deployment(d)
	}
	for i := range p.Measurements {
		data := &p.Measurements[i].Data
		if t := data.Trace; t != nil {
			n.recordDataset(t.URL, t.SHA256)
		}
		if f := data.File; f != nil {
			n.recordDataset(f.URL, f.SHA256)
		}
	}
	p.Images = n.taskImages(p)
	n.used.Require = n.pins.Require
	if n.used.Require == "none" {
		n.used.Require = ""
	}
	if used := n.used; len(used.Images)+len(used.ModelRevisions)+len(used.Repos)+len(used.Datasets) > 0 ||
		used.Require != "" {
		p.Pins = &used
	}
}

// deployment pins what is deployed.
func (n *pinner) deployment(d *runplan.Deployment) {
	d.Engine.Image = n.image(d.Engine.Image)
	d.SchedulerImage, d.ProxyImage = n.image(d.SchedulerImage), n.image(d.ProxyImage)
	if engine.Of(d.Engine.Kind).ServesFiles {
		d.Model.Revision = n.name("model", d.Model.Name, n.pins.ModelRevisions, &n.used.ModelRevisions)
	}
	if d.RepoRef != "" {
		n.name("repository ref", d.RepoRef, n.pins.Repos, &n.used.Repos)
	}
}

// commit is the commit that a repository ref is pinned to.
func (n *pinner) commit(ref string) string { return n.pins.Repos[ref] }

// image returns ref by digest where that is known: a flag beats the experiment, which beats the lock.
func (n *pinner) image(ref string) string {
	if ref == "" || strings.Contains(ref, "@") {
		return ref
	}
	digest := orElse(n.opt.Pins[ref], n.pins.Images[ref])
	if digest == "" {
		_, digest, _ = strings.Cut(n.opt.Lock[ref], "@")
	}
	if digest == "" {
		n.unpinned = append(n.unpinned, "image "+ref)
		return ref
	}
	record(&n.used.Images, ref, digest)
	return ref + "@" + digest
}

// name returns what a name is pinned to, empty when it is not.
func (n *pinner) name(what, name string, pins map[string]string, used *map[string]string) string {
	pinned := pins[name]
	if pinned == "" {
		n.unpinned = append(n.unpinned, what+" "+name)
		return ""
	}
	record(used, name, pinned)
	return pinned
}

// dataset pins the trace or file of a measurement that is not shared yet.
func (n *pinner) dataset(m *runplan.Measurement) {
	if t := m.Data.Trace; t != nil && t.SHA256 == "" {
		pinned := *t
		pinned.SHA256 = n.sum(t.URL)
		m.Data.Trace = &pinned
	}
	if f := m.Data.File; f != nil && f.SHA256 == "" {
		pinned := *f
		pinned.SHA256 = n.sum(f.URL)
		m.Data.File = &pinned
	}
}

// sum is the checksum of a dataset, whose address may have lost a literal credential to a Secret.
func (n *pinner) sum(url string) string {
	if sum := n.pins.Datasets[url]; sum != "" {
		return sum
	}
	for address, sum := range n.pins.Datasets {
		if new(literal.Taker).Address("", address) == url {
			return sum
		}
	}
	return ""
}

func (n *pinner) recordDataset(url, sha256 string) {
	switch {
	case sha256 == "":
		n.unpinned = append(n.unpinned, "dataset "+url)
	case n.sum(url) == sha256:
		record(&n.used.Datasets, url, sha256)
	}
}

// taskImages names the images of the tasks: PREFIX/NAME:VERSION with a prefix, else those of the lock. Names that
// neither gives are left to the compiler.
func (n *pinner) taskImages(p *runplan.RunPlan) map[string]string {
	names := contract.Binaries()
	if image := engine.Of(p.Deployment.Engine.Kind).OwnImage; image != "" && p.Deployment.Endpoint == nil {
		names = append(slices.Clone(names), image)
	}
	var images map[string]string
	for _, name := range names {
		ref := n.opt.Lock[name]
		if n.opt.ImagePrefix != "" {
			ref = n.image(fmt.Sprintf("%s/%s:%s", strings.TrimRight(n.opt.ImagePrefix, "/"), name, tag(n.opt.Version)))
		}
		if ref == "" {
			n.unpinned = append(n.unpinned, "image of task "+name)
			continue
		}
		record(&images, name, ref)
	}
	return images
}

// tag is a version as the tag of an image, which has no room for the "+" of a build's metadata, nor for the "/" of a
// branch. It is also a label of what the image does, so it follows the stricter rules of those.
func tag(version string) string {
	const longest = 63
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, version)
	clean = strings.TrimLeft(clean, "-_.")
	return orElse(strings.TrimRight(clean[:min(len(clean), longest)], "-_."), "latest")
}

func record(m *map[string]string, key, value string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[key] = value
}

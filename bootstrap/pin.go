package bootstrap

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/digests"
	"bflow.dev/bflow/bootstrap/mirror"
)

// foreignImages are the images that components name and that are not ours, each once and sorted. Ours are named by digest
// where a lock is given.
func foreignImages(all []Part) []string {
	var refs []string
	for _, p := range all {
		if p.Key == partBflow {
			continue
		}
		for _, o := range p.Objects {
			refs = append(refs, mirror.Images(o)...)
		}
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// pin lets images of Tekton and Kueue that are named by a tag be installed by digest, where that can be found out. What
// an earlier call has found out stays, so that a registry that is away changes nothing.
func (h *Hub) pin(ctx context.Context, s *survey) error {
	onNodes, err := h.imagesOnNodes(ctx)
	if err != nil {
		return err
	}
	found, why := resolve(ctx, foreignImages(s.parts), onNodes)
	if len(found) > 0 {
		s.options.Digests = maps.Clone(s.options.Digests)
		if s.options.Digests == nil {
			s.options.Digests = map[string]string{}
		}
		maps.Copy(s.options.Digests, found)
		if s.parts, err = render(s.options, s.components, s.found, s.inventory); err != nil {
			return err
		}
	}
	s.options.Digests = digestsInUse(s.options.Digests, s.parts)
	for _, reason := range slices.Sorted(maps.Keys(why)) {
		h.printNote("installed by tag, because %s: %s", reason, strings.Join(why[reason], ", "))
	}
	return nil
}

// resolve finds the digests of references by tag; why tells of the others, by reason. An image that somebody has put
// onto a node by its tag stays at that: the node could not pull another by digest, or would pull one that nobody means.
func resolve(ctx context.Context, refs []string, onNodes map[string][]string) (found map[string]string, why map[string][]string) {
	found, why = map[string]string{}, map[string][]string{}
	const loaded = "nodes have a different image of that name, which was loaded onto them"
	var ask []string
	for _, ref := range refs {
		on, there := onNodes[ref]
		switch {
		case !digests.ByTag(ref):
		case there && len(on) == 0:
			why[loaded] = append(why[loaded], ref)
		default:
			ask = append(ask, ref)
		}
	}
	answers := digests.Resolve(ctx, ask)
	for _, ref := range ask {
		answer, on := answers[ref], onNodes[ref]
		switch {
		case answer.Err != nil:
			why[answer.Err.Error()] = append(why[answer.Err.Error()], ref)
		case len(on) > 0 && !slices.Contains(on, answer.Digest):
			why[loaded] = append(why[loaded], ref)
		default:
			found[ref] = answer.Digest
		}
	}
	return found, why
}

// imagesOnNodes are the images by tag that nodes say they have, with the digests under which they have them. One without a digest
// comes from no registry.
func (h *Hub) imagesOnNodes(ctx context.Context) (map[string][]string, error) {
	nodes, err := h.cluster.List(ctx, schema.GroupKind{Kind: "Node"}, "", "")
	if err != nil {
		return nil, fmt.Errorf("reading which images nodes have: %w", err)
	}
	all := map[string][]string{}
	for _, node := range nodes {
		images, _, _ := unstructured.NestedSlice(node.Object, "status", "images")
		for _, entry := range images {
			image, _ := entry.(map[string]any)
			names, _, _ := unstructured.NestedStringSlice(image, "names")
			for _, name := range names {
				if digests.ByTag(name) {
					all[name] = append(all[name], digestsOf(name, names)...)
				}
			}
		}
	}
	return all, nil
}

// digestsOf are those of an image in the repository of a name by tag, among all its names.
func digestsOf(byTag string, names []string) []string {
	var all []string
	for _, name := range names {
		repository, digest, _ := strings.Cut(name, "@")
		if digest != "" && strings.HasPrefix(byTag, repository+":") {
			all = append(all, digest)
		}
	}
	return all
}

// pinImages are objects whose images have a digest where one is known.
func pinImages(objects []*unstructured.Unstructured, known map[string]string) []*unstructured.Unstructured {
	to := map[string]string{}
	for ref, digest := range known {
		to[ref] = digests.With(ref, digest)
	}
	return mirror.Mirror{Map: to}.Rewrite(objects)
}

// digestsInUse are the digests of images that components name.
func digestsInUse(known map[string]string, all []Part) map[string]string {
	refs := foreignImages(all)
	out := maps.Clone(known)
	maps.DeleteFunc(out, func(ref, digest string) bool { return !slices.Contains(refs, digests.With(ref, digest)) })
	return out
}

// ImageNames counts how the images of Tekton and Kueue are referenced.
type ImageNames struct {
	ByDigest map[string]string `json:"byDigest"` // reference by tag -> digest that it was resolved to
	ByTag    []string          `json:"byTag"`    // those that no registry has resolved
}

func imageNames(s survey) ImageNames {
	names := ImageNames{ByDigest: digestsInUse(s.options.Digests, s.parts), ByTag: []string{}}
	for _, ref := range foreignImages(s.parts) {
		if digests.ByTag(ref) {
			names.ByTag = append(names.ByTag, ref)
		}
	}
	return names
}

// WithDigests asks registries for the digests of the images of Tekton and Kueue by tag, as an installation does, and
// returns the options with them. What no registry told is written to note, by reason.
func (o Options) WithDigests(ctx context.Context, note func(reason string, refs []string)) (Options, error) {
	all, err := render(o.withDefaults(), component.All(), detect.Found{}, Inventory{})
	if err != nil {
		return o, err
	}
	found, why := resolve(ctx, foreignImages(all), nil)
	for _, reason := range slices.Sorted(maps.Keys(why)) {
		note(reason, why[reason])
	}
	o.Digests = found
	return o, nil
}

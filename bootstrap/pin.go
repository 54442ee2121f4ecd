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

// foreignImages returns the images of parts other than bflow, each once and sorted. Images of bflow are named by
// digest in a lock.
func foreignImages(all []Part) []string {
	return imagesOf(all, func(p Part) bool { return p.Key != partBflow })
}

// pin resolves images of Tekton and Kueue from tags to digests, as far as registries answer. Digests of earlier calls
// stay, so that an unreachable registry changes nothing.
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
		h.out.note("installed by tag, because %s: %s", reason, strings.Join(why[reason], ", "))
	}
	return nil
}

// resolve returns the digests of references with a tag, and the references without one by reason. An image that
// somebody has loaded into a node under its tag stays by tag: the node could not pull the digest, or would pull
// another image than the one that was meant.
func resolve(ctx context.Context, refs []string, onNodes map[string][]string) (found map[string]string,
	why map[string][]string) {
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

// imagesOnNodes returns the images with a tag that nodes report, with their digests. An image without a digest comes
// from no registry.
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

// digestsOf returns the digests among the names of an image that are in the repository of its name with a tag.
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

// pinImages returns the objects with the known digests in their images.
func pinImages(objects []*unstructured.Unstructured, known map[string]string) []*unstructured.Unstructured {
	to := map[string]string{}
	for ref, digest := range known {
		to[ref] = digests.With(ref, digest)
	}
	return mirror.Mirror{Map: to}.Rewrite(objects)
}

// digestsInUse returns those of the known digests that parts use.
func digestsInUse(known map[string]string, all []Part) map[string]string {
	refs := foreignImages(all)
	out := maps.Clone(known)
	maps.DeleteFunc(out, func(ref, digest string) bool { return !slices.Contains(refs, digests.With(ref, digest)) })
	return out
}

// ImageNames is how the images of Tekton and Kueue are named.
type ImageNames struct {
	ByDigest map[string]string `json:"byDigest"` // reference with tag -> digest
	ByTag    []string          `json:"byTag"`    // those without a digest
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

// WithDigests returns the options with the digests of the images of Tekton and Kueue, as an installation resolves
// them. It calls note with the references that no registry has resolved, by reason.
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

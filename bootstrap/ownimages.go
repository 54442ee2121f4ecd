package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"bflow.dev/bflow/bootstrap/digests"
	"bflow.dev/bflow/bootstrap/mirror"
)

// ownImages returns the images of bflow that parts name, each once and sorted.
func ownImages(all []Part) []string {
	return imagesOf(all, func(p Part) bool { return p.Key == partBflow })
}

// imagesOf returns the images of the parts that pick accepts, each once and sorted.
func imagesOf(all []Part, pick func(Part) bool) []string {
	var refs []string
	for _, p := range all {
		if !pick(p) {
			continue
		}
		for _, o := range p.Objects {
			refs = append(refs, mirror.Images(o)...)
		}
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// checkOwnImages fails if images of bflow do not exist: its pods would never start. What cannot be known here, because
// nodes reach another network or have other credentials, is left to the nodes.
func (h *Hub) checkOwnImages(ctx context.Context, s survey) error {
	have, all, err := h.nodeImages(ctx)
	if err != nil {
		return err
	}
	var absent, ask []string
	for _, ref := range ownImages(s.parts) {
		switch {
		case have[ref]:
		case !strings.HasPrefix(ref, localRegistry):
			ask = append(ask, ref)
		case all:
			absent = append(absent, ref)
		}
	}
	answers := digests.Resolve(ctx, ask)
	for _, ref := range ask {
		switch err := answers[ref].Err; {
		case errors.Is(err, digests.ErrAbsent):
			absent = append(absent, ref)
		case err != nil:
			h.out.note("%s may or may not exist: %v", ref, err)
		}
	}
	if len(absent) == 0 {
		return nil
	}
	return fmt.Errorf(
		"bflow's own images are missing: %s; `bflow images push --prefix REGISTRY/PATH` in a checkout builds and pushes "+
			"them and writes images.lock.yaml, "+
			"which bootstrap reads from the working directory or from --lock", strings.Join(absent, ", "))
}

// localRegistry is the prefix of images that were built here and loaded into nodes: no registry has them.
const localRegistry = "localhost/"

// maxReportedImages is how many images a kubelet reports, the largest first.
const maxReportedImages = 50

// nodeImages returns the names of images on nodes; all is true if these are all images of all nodes.
func (h *Hub) nodeImages(ctx context.Context) (have map[string]bool, all bool, err error) {
	nodes, err := h.cluster.List(ctx, schema.GroupKind{Kind: "Node"}, "", "")
	if err != nil {
		return nil, false, fmt.Errorf("reading which images nodes have: %w", err)
	}
	have, all = map[string]bool{}, true
	for _, node := range nodes {
		images, _, _ := unstructured.NestedSlice(node.Object, "status", "images")
		all = all && len(images) < maxReportedImages
		for _, entry := range images {
			image, _ := entry.(map[string]any)
			names, _, _ := unstructured.NestedStringSlice(image, "names")
			for _, name := range names {
				have[name] = true
			}
		}
	}
	return have, all, nil
}

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

// ownImages are the images of bflow that components name, each once and sorted.
func ownImages(all []Part) []string {
	var refs []string
	for _, p := range all {
		if p.Key != partBflow {
			continue
		}
		for _, o := range p.Objects {
			refs = append(refs, mirror.Images(o)...)
		}
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// own refuses an installation whose own images are nowhere: else it would wait for pods that never start. What cannot be
// known from here, because nodes reach another network or have other credentials, is left to them.
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
			h.printNote("%s may be there or not: %v", ref, err)
		}
	}
	if len(absent) == 0 {
		return nil
	}
	return fmt.Errorf("bflow's own images are missing: %s; `bflow images push --prefix REGISTRY/PATH` in a checkout builds and pushes them and writes images.lock.yaml, "+
		"which bootstrap reads from the working directory or from --lock", strings.Join(absent, ", "))
}

// localRegistry begins images that were built here and are loaded into nodes: no registry has them.
const localRegistry = "localhost/"

// mostTold is how many images a kubelet tells of at most, the largest.
const maxReportedImages = 50

// nodeImages are the names of images that nodes have; all says whether that is every image of every node.
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

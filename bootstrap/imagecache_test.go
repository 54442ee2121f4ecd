package bootstrap

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/bootstrap/detect"
)

// ImageCache keeps images of engines on the nodes, so that runs do not wait for them.
type ImageCache struct{ fledged bool }

// Definition names it and its flag. Its objects are a part of their own in the inventory.
func (*ImageCache) Definition() component.Definition {
	return component.Definition{Name: "image cache", Part: "image-cache", Flags: []component.Flag{{
		Name: "cache-image", Usage: "image that every node keeps; repeatable", Key: "cacheImages", Kind: component.Texts,
		Parse: func(given []string) (any, error) { return given, nil },
	}}}
}

// Detect looks for kube-fledged, which keeps images by itself.
func (c *ImageCache) Detect(_ context.Context, _ detect.Cluster, api detect.API) error {
	c.fledged = api.Serves("kubefledged.io/v1alpha3", "imagecaches")
	return nil
}

// Render returns a DaemonSet with a container per image.
func (c *ImageCache) Render(s component.Site) (component.Output, error) {
	var images []string
	if err := s.Settings.Read("cacheImages", &images); err != nil || len(images) == 0 || c.fledged {
		return component.Output{}, err
	}
	var containers []any
	for i, image := range images {
		containers = append(containers, map[string]any{
			"name": fmt.Sprintf("image-%d", i), "image": image, "command": []any{"sleep", "infinity"},
		})
	}
	labels := map[string]any{"app": "image-cache"}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "DaemonSet",
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": containers},
			},
		},
	}}
	o.SetNamespace("kube-system")
	o.SetName("bflow-image-cache")
	return component.Output{Objects: []*unstructured.Unstructured{o}, Ready: hasImages}, nil
}

// hasImages is satisfied when every node has pulled the images. Installation waits for it, and status asks it.
func hasImages(o *unstructured.Unstructured) (ok bool, why string) {
	if o == nil {
		return false, "it is not there"
	}
	want, counted, _ := unstructured.NestedInt64(o.Object, "status", "desiredNumberScheduled")
	have, _, _ := unstructured.NestedInt64(o.Object, "status", "numberReady")
	return counted && have == want, fmt.Sprintf("%d of %d nodes have the images", have, want)
}

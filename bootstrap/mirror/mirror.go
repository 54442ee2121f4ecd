// Package mirror finds the images in objects and replaces them by those of a mirror. It opens no socket.
package mirror

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/bounded"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Mirror replaces the registries of images. The zero value changes nothing.
type Mirror struct {
	Registry string            // REGISTRY[/PATH] in place of the registry of every image
	Map      map[string]string // reference, repository or prefix that ends in "/" -> its replacement; before Registry
}

// maxMap bounds the size of a map, which has a line per image.
const maxMap = 16 << 20

// ReadMap reads a YAML file of lines FROM: TO. Without a file name there is no map.
func ReadMap(file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	text, err := bounded.ReadFile(file, maxMap)
	if err != nil {
		return nil, fmt.Errorf("reading the image map: %w", err)
	}
	var m map[string]string
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		return nil, fmt.Errorf("reading the image map %q: %w; want lines of FROM: TO", file, err)
	}
	return m, nil
}

// Image returns where an image comes from: by the longest entry of the map that matches, else from the registry of the
// mirror.
func (m Mirror) Image(ref string) string {
	if to, ok := m.Map[ref]; ok {
		return to
	}
	repository, rest := splitReference(ref)
	if to, ok := m.Map[repository]; ok {
		if _, own := splitReference(to); own != "" {
			return to
		}
		return to + rest
	}
	best := ""
	for from := range m.Map {
		if strings.HasSuffix(from, "/") && strings.HasPrefix(ref, from) && len(from) > len(best) {
			best = from
		}
	}
	if best != "" {
		return strings.TrimSuffix(m.Map[best], "/") + "/" + strings.TrimPrefix(ref, best)
	}
	if m.Registry == "" {
		return ref
	}
	return strings.TrimSuffix(m.Registry, "/") + "/" + withoutHost(ref)
}

// splitReference splits a reference before its tag or digest.
func splitReference(ref string) (repository, rest string) {
	if at := strings.Index(ref, "@"); at >= 0 {
		return ref[:at], ref[at:]
	}
	if colon := strings.LastIndex(ref, ":"); colon > strings.LastIndex(ref, "/") {
		return ref[:colon], ref[colon:]
	}
	return ref, ""
}

// withoutHost returns a reference without its registry, which is the first element if that looks like a host.
func withoutHost(ref string) string {
	host, path, found := strings.Cut(ref, "/")
	if found && (strings.ContainsAny(host, ".:") || host == "localhost") {
		return path
	}
	return ref
}

// Rewrite returns copies of the objects with images of the mirror.
func (m Mirror) Rewrite(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	out := make([]*unstructured.Unstructured, len(objects))
	for i, o := range objects {
		if out[i] = o; !hasImages(o) {
			continue
		}
		out[i] = o.DeepCopy()
		replaceImages(out[i].Object, m.Image)
	}
	return out
}

// Images returns the references in an object, in the order in which they are found.
func Images(o *unstructured.Unstructured) []string {
	var all []string
	if hasImages(o) {
		replaceImages(o.DeepCopy().Object, func(ref string) string { all = append(all, ref); return ref })
	}
	return all
}

// hasImages reports whether an object has a pod template, or steps that become one. (Schemas of CRDs have fields of
// the same names.)
func hasImages(o *unstructured.Unstructured) bool {
	return slices.Contains([]string{"Pod", "Task", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"},
		o.GetKind())
}

// replaceImages replaces every image below a value: those of containers, and those in arguments after a flag whose
// name ends in "-image", as Tekton's controller has them.
func replaceImages(value any, replace func(string) string) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			replaceImages(v, replace)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			v := value[key]
			ref, isText := v.(string)
			switch {
			case key == "image" && isText:
				value[key] = replace(ref)
			case key == "args":
				replaceInFlags(v, replace)
			default:
				replaceImages(v, replace)
			}
		}
	}
}

func replaceInFlags(args any, replace func(string) string) {
	list, _ := args.([]any)
	for i := 1; i < len(list); i++ {
		flag, _ := list[i-1].(string)
		ref, _ := list[i].(string)
		if strings.HasPrefix(flag, "-") && (strings.HasSuffix(flag, "-image") || strings.HasSuffix(flag, "-image-win")) {
			list[i] = replace(ref)
		}
	}
}

package objects

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"bflow.dev/bflow/bootstrap/overlays"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Labels on every object, beside contract.LabelManagedBy.
const (
	labelPartOf  = "app.kubernetes.io/part-of"
	labelVersion = "app.kubernetes.io/version"
	partOf       = "bflow"
)

// render runs kustomize over the embedded overlays and a kustomization on top.
func render(call types.Kustomization) ([]*unstructured.Unstructured, error) {
	files := filesys.MakeFsInMemory()
	if err := copyOverlays(files); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(call)
	if err != nil {
		return nil, err
	}
	if err := files.WriteFile("/call/kustomization.yaml", text); err != nil {
		return nil, err
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	built, err := krusty.MakeKustomizer(options).Run(files, "/call")
	if err != nil {
		return nil, err
	}
	objects := make([]*unstructured.Unstructured, 0, built.Size())
	for _, r := range built.Resources() {
		o := &unstructured.Unstructured{}
		text, err := r.MarshalJSON() // maps of YAML have ints, which apimachinery does not copy
		if err == nil {
			err = o.UnmarshalJSON(text)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s back: %w", r.CurId(), err)
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// kustomization is the topmost one: the overlay, the folders of components, and the image.
func kustomization(c Config) types.Kustomization {
	k := types.Kustomization{
		TypeMeta:  types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind},
		Resources: []string{"../overlays/" + c.Overlay},
		Labels:    []types.Label{{Pairs: map[string]string{labelVersion: labelValue(c.Version)}}},
	}
	for _, p := range c.Pieces {
		if p.Folder != "" {
			k.Components = append(k.Components, "../overlays/components/"+p.Folder)
		}
	}
	image := imageOf(c.Image)
	k.Images = []types.Image{image}
	if c.Overlay == AirGapped { // this overlay has renamed it already
		image.Name = "registry.example/bflow/bflow-controller"
		k.Images = append(k.Images, image)
	}
	return k
}

// imageOf replaces the image of the controller by ref.
func imageOf(ref string) types.Image {
	image := types.Image{Name: DefaultImage, NewName: ref}
	if name, digest, ok := strings.Cut(ref, "@"); ok {
		image.NewName, image.Digest = name, digest
		ref = name
	}
	if at := strings.LastIndex(ref, ":"); at > strings.LastIndex(ref, "/") {
		image.NewName, image.NewTag = ref[:at], ref[at+1:]
	}
	if image.Digest != "" {
		image.NewTag = "" // kustomize takes one of the two, and only the digest is immutable
	}
	return image
}

func copyOverlays(to filesys.FileSystem) error {
	return fs.WalkDir(overlays.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := overlays.FS.ReadFile(name)
		if err != nil {
			return err
		}
		return to.WriteFile(path.Join("/overlays", name), text)
	})
}

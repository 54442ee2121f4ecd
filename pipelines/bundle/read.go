package bundle

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"bflow.dev/bflow/internal/bounded"
)

// Entry is one object of a bundle, as its annotations name it. Text is its JSON or YAML.
type Entry struct {
	APIVersion, Kind, Name string
	Text                   []byte
}

// Read returns what a bundle holds, in its order. It refuses what Tekton refuses.
func Read(img v1.Image) ([]Entry, error) {
	m, err := img.Manifest()
	if err != nil {
		return nil, fmt.Errorf("reading a bundle: %w", err)
	}
	if len(m.Layers) > MaxObjects {
		return nil, fmt.Errorf("reading a bundle: it has %d layers, Tekton reads at most %d", len(m.Layers), MaxObjects)
	}
	var entries []Entry
	for n, d := range m.Layers {
		e := Entry{
			APIVersion: d.Annotations[AnnotationAPIVersion], Kind: d.Annotations[AnnotationKind],
			Name: d.Annotations[AnnotationName],
		}
		if e.APIVersion == "" || e.Name == "" || e.Kind == "" || strings.TrimSuffix(strings.ToLower(e.Kind), "s") != e.Kind {
			return nil, fmt.Errorf("reading a bundle: layer %d is annotated as %q, %q, %q; want apiVersion, kind in "+
				"lower case and singular, name", n, e.APIVersion, e.Kind, e.Name)
		}
		layer, err := img.LayerByDigest(d.Digest)
		if err != nil {
			return nil, fmt.Errorf("reading a bundle: %w", err)
		}
		if e.Text, err = only(layer); err != nil {
			return nil, fmt.Errorf("reading a bundle: %s %q: %w", e.Kind, e.Name, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// maxObject bounds one object of a bundle: an API server takes no larger one.
const maxObject = 4 << 20

// only is the one file of a layer.
func only(layer v1.Layer) ([]byte, error) {
	plain, err := layer.Uncompressed()
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	t := tar.NewReader(plain)
	if _, err := t.Next(); err != nil {
		return nil, err
	}
	text, err := bounded.ReadAll(t, maxObject)
	if err != nil {
		return nil, err
	}
	if _, err := t.Next(); !errors.Is(err, io.EOF) {
		return nil, errors.New("its layer holds more than one file")
	}
	return text, nil
}

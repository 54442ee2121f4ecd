package pipelines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Bundle is what a stream of documents holds, each kind in the order of the stream.
type Bundle struct {
	Pipelines    []*tektonv1.Pipeline
	Tasks        []*tektonv1.Task
	PipelineRuns []*tektonv1.PipelineRun
	ConfigMaps   []*corev1.ConfigMap
}

// Parse reads a stream of YAML or JSON documents. It is strict: an unknown field, a repeated key or a kind that
// Bundle has no place for is an error, which names the document, counted from 1. Empty documents are skipped.
func Parse(r io.Reader) (Bundle, error) {
	var b Bundle
	docs := utilyaml.NewYAMLReader(bufio.NewReader(r))
	for n := 1; ; n++ {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return Bundle{}, fmt.Errorf("reading document %d: %w", n, err)
		}
		if err := b.add(doc); err != nil {
			return Bundle{}, fmt.Errorf("reading document %d: %w", n, err)
		}
	}
}

func (b *Bundle) add(doc []byte) error {
	if blank(doc) {
		return nil
	}
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal(doc, &meta); err != nil {
		return err
	}
	switch meta.APIVersion + " " + meta.Kind {
	case " ":
		return errors.New("no apiVersion and kind")
	case "tekton.dev/v1 Pipeline":
		return decode(doc, &b.Pipelines)
	case "tekton.dev/v1 Task":
		return decode(doc, &b.Tasks)
	case "tekton.dev/v1 PipelineRun":
		return decode(doc, &b.PipelineRuns)
	case "v1 ConfigMap":
		return decode(doc, &b.ConfigMaps)
	default:
		return fmt.Errorf("apiVersion %q, kind %q is not read here; want a Pipeline, Task or PipelineRun of "+
			"tekton.dev/v1, or a ConfigMap",
			meta.APIVersion, meta.Kind)
	}
}

func decode[T any](doc []byte, into *[]*T) error {
	obj := new(T)
	if err := yaml.UnmarshalStrict(doc, obj); err != nil {
		return err
	}
	*into = append(*into, obj)
	return nil
}

// blank says whether doc holds nothing but comments and document marks.
func blank(doc []byte) bool {
	for line := range bytes.Lines(doc) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}

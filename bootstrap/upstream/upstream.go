// Package upstream holds the manifests of Tekton Pipelines and Kueue: rendered from the modules that go.mod pins,
// committed and embedded, so that an installation needs no network. It must not talk to a cluster.
package upstream

//go:generate go run ./render .

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Versions of the manifests. A test compares them with go.mod.
const (
	TektonVersion = "v1.13.1"
	KueueVersion  = "v0.19.0"
)

// Namespaces of Tekton and Kueue.
const (
	TektonNamespace = "tekton-pipelines"
	KueueNamespace  = "kueue-system"
)

//go:embed tekton.yaml
var tekton []byte

//go:embed kueue.yaml
var kueue []byte

// Tekton returns the objects of Tekton Pipelines and its resolvers.
func Tekton() ([]*unstructured.Unstructured, error) { return copyAll(tektonOnce()) }

// Kueue returns the objects of Kueue, configured for queues of PipelineRuns: of its own integrations only batch/job is
// on.
func Kueue() ([]*unstructured.Unstructured, error) { return copyAll(kueueOnce()) }

// Reading takes ten times as long as copying what was read.
//
//nolint:gochecknoglobals // constants, of which only copies are given away
var (
	tektonOnce = sync.OnceValues(func() ([]*unstructured.Unstructured, error) { return Parse("tekton.yaml", tekton) })
	kueueOnce  = sync.OnceValues(func() ([]*unstructured.Unstructured, error) { return Parse("kueue.yaml", kueue) })
)

// copyAll returns copies that the caller may change.
func copyAll(all []*unstructured.Unstructured, err error) ([]*unstructured.Unstructured, error) {
	own := make([]*unstructured.Unstructured, len(all))
	for i, u := range all {
		own[i] = u.DeepCopy()
	}
	return own, err
}

// Parse reads a stream of YAML documents, and skips those of comments alone. name is for errors.
func Parse(name string, stream []byte) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for i, doc := range bytes.Split(stream, []byte("\n---\n")) {
		if isBlank(doc) {
			continue
		}
		text, err := yaml.YAMLToJSONStrict(doc)
		if err != nil {
			return nil, fmt.Errorf("reading document %d of %s: %w", i+1, name, err)
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(text); err != nil {
			return nil, fmt.Errorf("reading document %d of %s: %w", i+1, name, err)
		}
		all = append(all, u)
	}
	return all, nil
}

func isBlank(doc []byte) bool {
	for line := range strings.SplitSeq(string(doc), "\n") {
		if line = strings.TrimSpace(line); line != "" && line != "---" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

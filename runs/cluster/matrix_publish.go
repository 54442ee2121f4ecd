package cluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"

	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Keys of the ConfigMap that holds the results of a matrix.
const (
	KeyMatrix = "matrix.json"
	keyPage   = "index.html.gz"
)

// longestPage is how much of a ConfigMap a page may take; one over thousands of points is made anew where it is wanted.
const longestPage = 600 << 10

// Get reads a matrix whose name is known.
func (ms Matrices) Get(ctx context.Context, namespace, name string) (*Matrix, error) {
	pr, err := kube.Get[tektonv1.PipelineRun](ctx, ms.c.api, pipelineRuns(namespace, name))
	if err != nil {
		return nil, fmt.Errorf("reading matrix %s: %w", name, err)
	}
	m := &Matrix{Parent: *pr}
	if m.Custom, err = ms.customOf(ctx, pr); err != nil {
		return nil, fmt.Errorf("reading matrix %s: %w", name, err)
	}
	return m, nil
}

// customOf is the CustomRun of a matrix, nil before Tekton has made it.
func (ms Matrices) customOf(ctx context.Context, parent *tektonv1.PipelineRun) (*tektonv1beta1.CustomRun, error) {
	all, err := kube.List[tektonv1beta1.CustomRun](ctx, ms.c.api, kube.CustomRuns(parent.Namespace, ""),
		customsOf(parent.Name))
	for i := range all {
		if owns(parent, &all[i]) {
			return &all[i], nil
		}
	}
	return nil, err
}

// customsOf selects the CustomRuns of a PipelineRun.
func customsOf(parent string) kube.Selector {
	return kube.Labels(pipeline.PipelineRunLabelKey + "=" + parent)
}

// Publish leaves what a matrix came to beside it: a summary, and its page where that is small enough. It goes
// with the parent.
func (ms Matrices) Publish(ctx context.Context, m *Matrix, summary any, html []byte) error {
	text, err := json.Marshal(summary)
	if err != nil {
		return fmt.Errorf("encoding the summary of matrix %s: %w", m.Name(), err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(html); err != nil {
		return fmt.Errorf("packing the page of matrix %s: %w", m.Name(), err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("packing the page of matrix %s: %w", m.Name(), err)
	}
	cm := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: contract.ResultConfigMap(m.Name()), Namespace: m.Namespace(),
			Labels: map[string]string{contract.LabelRole: "matrix-result", contract.LabelMatrix: m.Name(),
				contract.LabelManagedBy:  contract.ManagedBy,
				contract.LabelExperiment: m.Parent.Labels[contract.LabelExperiment]},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Name: m.Name(),
				UID: m.Parent.UID}}},
		Data: map[string]string{KeyMatrix: string(text)},
	}
	if len(html) > 0 && packed.Len() <= longestPage {
		cm.BinaryData = map[string][]byte{keyPage: packed.Bytes()}
	}
	err = ms.c.api.Apply(ctx, configMaps(cm.Namespace, cm.Name), cm, nil, kube.Write{Force: true})
	return wrap("writing the summary of matrix "+m.Name(), err)
}

// Results reads what Publish has left.
func (ms Matrices) Results(ctx context.Context, namespace, name string) (summary, html []byte, err error) {
	cm, err := kube.Get[corev1.ConfigMap](ctx, ms.c.api, configMaps(namespace, contract.ResultConfigMap(name)))
	if err != nil {
		return nil, nil, fmt.Errorf("reading the summary of matrix %s: %w", name, err)
	}
	const longestPage = 64 << 20
	if packed := cm.BinaryData[keyPage]; packed != nil {
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, nil, fmt.Errorf("reading the page of matrix %s: %w", name, err)
		}
		if html, err = bounded.ReadAll(z, longestPage); err != nil {
			return nil, nil, fmt.Errorf("reading the page of matrix %s: %w", name, err)
		}
	}
	return []byte(cm.Data[KeyMatrix]), html, nil
}

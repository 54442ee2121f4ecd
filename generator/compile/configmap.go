package compile

import (
	"bytes"
	"compress/gzip"
	"fmt"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxPlan is how much of a ConfigMap's 1 MiB a plan may take: base64 and metadata of a gzip one included, and
// with room for what a server adds.
const maxPlan = 900_000

// configMap delivers the plan. It is named by content and immutable, so that runs can share it.
func (c *compiler) configMap(plan *runplan.RunPlan) (*corev1.ConfigMap, error) {
	immutable := true
	cm := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        "bflow-plan-" + plan.Digest[:12],
			Namespace:   plan.Target.Namespace,
			Labels:      planLabels(plan),
			Annotations: map[string]string{contract.AnnotationName: plan.Experiment},
		},
		Immutable: &immutable,
	}
	text, err := runplan.Marshal(plan)
	if err != nil {
		return nil, err
	}
	if len(text) <= maxPlan {
		cm.Data = map[string]string{runplan.FileJSON: string(text)}
		return cm, nil
	}
	packed, err := pack(text)
	if err != nil {
		return nil, fmt.Errorf("packing %d bytes of JSON: %w", len(text), err)
	}
	if len(packed) > maxPlan {
		return nil,
			fmt.Errorf(
				"%d bytes of JSON, %d packed, are more than the %d that a ConfigMap holds; give it fewer stages or measurements",
				len(text), len(packed), maxPlan)
	}
	cm.BinaryData = map[string][]byte{runplan.FileGzip: packed}
	return cm, nil
}

func pack(text []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

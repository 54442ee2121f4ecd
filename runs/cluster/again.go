package cluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/internal/kube"
	queuerun "bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// longestPlan bounds what is unpacked of a plan.
const longestPlan = 64 << 20

// unpack returns the JSON of a plan's ConfigMap.
func unpack(cm *corev1.ConfigMap) ([]byte, error) {
	if text, ok := cm.Data[runplan.FileJSON]; ok {
		return []byte(text), nil
	}
	packed, ok := cm.BinaryData[runplan.FileGzip]
	if !ok {
		return nil, fmt.Errorf("reading ConfigMap %s: it holds no plan", cm.Name)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", cm.Name, err)
	}
	text, err := bounded.ReadAll(z, longestPlan)
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s: %w", cm.Name, err)
	}
	return text, nil
}

// Again makes a new run of the very plan, Pipeline and queue of another. name names it.
func (c *Cluster) Again(ctx context.Context, run *Run, name func(base string) string) (*Run, error) {
	old := &run.Attempts[0]
	for _, name := range keysOf(old) { // whoever may not look may still ask for the run
		_, err := kube.Get[corev1.Secret](ctx, c.api, secrets(old.Namespace, name))
		if apierrors.IsNotFound(err) && strings.HasPrefix(name, contract.SecretLiteral) {
			return nil,
				fmt.Errorf(
					"making a new run of %s: Secret %q is gone, which held a literal credential of its file; run the file again: "+
						"bflow run FILE", run.ID, name)
		}
	}
	pr := copyOf(old)
	named(pr, name(base(run.ID)))
	at := pipelineRuns(pr.Namespace, "")
	if err := c.check(ctx, pr); err != nil {
		return nil, fmt.Errorf("checking a new run of %s: %w", run.ID, err)
	}
	var made tektonv1.PipelineRun
	if err := c.api.Create(ctx, at, pr, &made, kube.Write{}); err != nil {
		return nil, fmt.Errorf("submitting a new run of %s: %w", run.ID, err)
	}
	if cm, err := kube.Get[corev1.ConfigMap](ctx, c.api, configMaps(run.Namespace, planOf(old))); err == nil {
		c.own(ctx, &made, configMaps(cm.Namespace, cm.Name),
			&corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
				ObjectMeta: metav1.ObjectMeta{Name: cm.Name, Namespace: cm.Namespace, Labels: cm.Labels}, Data: cm.Data,
				BinaryData: cm.BinaryData, Immutable: cm.Immutable})
	}
	for _, name := range keysOf(old) {
		at := secrets(made.Namespace, name)
		if secret, err := kube.Get[corev1.Secret](ctx, c.api, at); err == nil && len(secret.OwnerReferences) > 0 {
			c.own(ctx, &made, at, &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Type: secret.Type,
				ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: made.Namespace, Labels: secret.Labels}, Data: secret.Data,
				Immutable: secret.Immutable})
		}
	}
	return &Run{ID: made.Name, Namespace: made.Namespace, Attempts: []tektonv1.PipelineRun{made}}, nil
}

// keysOf names the Secrets that a run and its Pipeline name. Those that came from the experiment file go with the last
// run that needs them.
func keysOf(pr *tektonv1.PipelineRun) []string {
	var names []string
	for _, w := range pr.Spec.Workspaces {
		if w.Name != contract.WorkspaceSecrets || w.Projected == nil {
			continue
		}
		for _, source := range w.Projected.Sources {
			if source.Secret != nil {
				names = append(names, source.Secret.Name)
			}
		}
	}
	if pr.Status.PipelineSpec == nil {
		return names
	}
	for _, task := range pr.Status.PipelineSpec.Tasks {
		for _, p := range task.Params {
			if p.Name == contract.ParamAPIKeySecret && p.Value.StringVal != "" && !slices.Contains(names, p.Value.StringVal) {
				names = append(names, p.Value.StringVal)
			}
		}
	}
	return names
}

// copyOf is what somebody asked for with a run, without what became of it.
func copyOf(old *tektonv1.PipelineRun) *tektonv1.PipelineRun {
	pr := &tektonv1.PipelineRun{TypeMeta: metav1.TypeMeta{APIVersion: "tekton.dev/v1", Kind: "PipelineRun"},
		ObjectMeta: metav1.ObjectMeta{Namespace: old.Namespace, Labels: map[string]string{},
			Annotations: map[string]string{}},
		Spec: *old.Spec.DeepCopy()}
	labels, annotations := queuerun.SubmittedKeys(old.Labels, old.Annotations)
	for k, v := range labels {
		if !strings.HasPrefix(k, "tekton.dev/") && k != contract.LabelParent {
			pr.Labels[k] = v
		}
	}
	for _, k := range queuerun.CompiledAnnotations() {
		if v, ok := annotations[k]; ok {
			pr.Annotations[k] = v
		}
	}
	pr.Spec.Status = ""
	if queue := queuerun.Queue(old); queue != "" { // its label may have been taken away
		pr.Labels[contract.LabelQueue] = queue
		pr.Spec.Status = tektonv1.PipelineRunSpecStatusPending
	}
	pr.Spec.Params = tektonv1.Params{{Name: contract.ParamRunID,
		Value: *tektonv1.NewStructuredValues("$(context.pipelineRun.name)")}}
	return pr
}

// base is the name of a run without its time and random part, where it has them.
func base(id string) string {
	parts := strings.Split(id, "-")
	if n := len(parts); n > 3 && len(parts[n-2]) == 6 && len(parts[n-3]) == 8 {
		parts = parts[:n-3]
	}
	name := strings.Join(parts, "-")
	return strings.TrimRight(name[:min(len(name), longestBase)], "-")
}

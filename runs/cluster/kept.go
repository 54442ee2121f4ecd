package cluster

import (
	"context"
	"fmt"
	"time"

	"bflow.dev/bflow/internal/kube"
	queuerun "bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MarkFetched notes on a run that somebody has all of its results, so that nothing of it has to be kept for their sake.
func (c *Cluster) MarkFetched(ctx context.Context, run *Run, at time.Time) error {
	pr := run.Last()
	if pr.Annotations[contract.AnnotationFetched] != "" {
		return nil
	}
	change := map[string]any{"metadata": map[string]any{"uid": pr.UID,
		"annotations": map[string]string{contract.AnnotationFetched: at.UTC().Format(time.RFC3339)}}}
	if err := c.api.Merge(ctx, pipelineRuns(pr.Namespace, pr.Name), change, kube.Write{}); err != nil {
		return fmt.Errorf("noting that the results of run %s were fetched: %w", run.ID, err)
	}
	return nil
}

// Kept is what a run that has ended still has on its cluster.
type Kept struct {
	Run, Namespace string
	Pods           int
	Volumes        int
	Bytes          int64 // that the volumes were asked to hold
	// the results were fetched, pushed or gathered with those of a matrix: the volumes hold nothing that is nowhere else
	Saved bool
}

// Kept lists what ended runs of a namespace have, "" for all; those that have neither pods nor volumes are left out.
func (c *Cluster) Kept(ctx context.Context, namespace string) ([]Kept, error) {
	runs, err := c.Runs(ctx, namespace)
	if err != nil {
		return nil, err
	}
	pods, err := kube.List[partial](ctx, c.api, pods(namespace, ""), kube.Labels(ours))
	if err != nil {
		return nil, fmt.Errorf("listing the pods of runs: %w", err)
	}
	claims, err := kube.List[corev1.PersistentVolumeClaim](ctx, c.api,
		kube.Core("persistentvolumeclaims", namespace, ""), kube.Selector{})
	if err != nil {
		return nil, fmt.Errorf("listing the volumes of runs: %w", err)
	}
	podsOf := map[types.NamespacedName]int{}
	for _, pod := range pods {
		podsOf[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[pipeline.PipelineRunLabelKey]}]++
	}
	claimsOf := map[types.UID][]corev1.PersistentVolumeClaim{}
	for _, claim := range claims {
		for _, owner := range claim.OwnerReferences {
			claimsOf[owner.UID] = append(claimsOf[owner.UID], claim)
		}
	}
	briefs := c.BriefsOf(ctx, runs)
	var out []Kept
	for i := range runs {
		r := &runs[i]
		if pr := r.Last(); !pr.IsDone() || queuerun.Holding(pr) {
			continue
		}
		k := Kept{Run: r.ID, Namespace: r.Namespace}
		notes := r.Last().Annotations
		k.Saved = notes[contract.AnnotationFetched] != "" || notes[contract.AnnotationResults] != "" ||
			briefs[r.Namespace+"/"+r.ID].Pushed(queuerun.Attempt(r.Last())) != ""
		for _, pr := range r.Attempts {
			k.Pods += podsOf[types.NamespacedName{Namespace: pr.Namespace, Name: pr.Name}]
			for _, claim := range claimsOf[pr.UID] {
				k.Volumes++
				k.Bytes += claim.Spec.Resources.Requests.Storage().Value()
			}
		}
		if k.Pods+k.Volumes > 0 {
			out = append(out, k)
		}
	}
	return out, nil
}

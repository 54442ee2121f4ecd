package queue

import (
	"context"
	"fmt"
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// accountWait is how long a run waits for another look because of an account that its tasks must not have: an
// experiment names it, and may come from somebody who could not use it otherwise. Any account may be marked for runs.
// A run that says nothing has the default account of its namespace, which no experiment asks for.
func (a *Admission) accountWait(ctx context.Context, pr *tektonv1.PipelineRun) (time.Duration, error) {
	if !run.Ours(pr) || !pr.IsPending() || run.Cancelling(pr) || !pr.DeletionTimestamp.IsZero() {
		return 0, nil
	}
	for _, name := range accountsOf(pr) {
		marked, err := a.forRuns(ctx, pr.Namespace, name)
		if err != nil {
			return 0, fmt.Errorf("reading account %q of run %q: %w", name, pr.Name, err)
		}
		if !marked {
			a.line.stepOut(pr.UID)
			return blockedRetryInterval, a.explain(ctx, pr, "WrongAccount",
				fmt.Sprintf("its tasks ask for ServiceAccount %s, which is not there or not marked for runs; "+
					"whoever may change it can say kubectl label serviceaccount %s -n %s %s=true", name, name, pr.Namespace,
					contract.LabelForRuns))
		}
	}
	return 0, nil
}

// accountsOf are those that the tasks of a run ask for, beside the one that bootstrap makes.
func accountsOf(pr *tektonv1.PipelineRun) (names []string) {
	all := []string{pr.Spec.TaskRunTemplate.ServiceAccountName}
	for i := range pr.Spec.TaskRunSpecs {
		all = append(all, pr.Spec.TaskRunSpecs[i].ServiceAccountName)
	}
	for _, name := range all {
		if name != "" && name != contract.AccountRunner {
			names = append(names, name)
		}
	}
	return names
}

// forRuns reads past the cache: to hold every account of the cluster for this would be much.
func (a *Admission) forRuns(ctx context.Context, namespace, name string) (bool, error) {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	err := a.opts.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)
	return err == nil && o.Labels[contract.LabelForRuns] == "true", client.IgnoreNotFound(err)
}

package leaks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/queue/gc"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Orphan is a run that no controller looks after.
type Orphan struct {
	Namespace, ID string
	Target        string   // where it was let start
	Attempts      []string // its PipelineRuns
	UIDs          []string // and theirs
	Metrics       bool     // it asks a Prometheus, for which it may have a token
}

const (
	goneWithin = 2 * time.Minute // for pods that are told to end
	lookEvery  = 2 * time.Second
	// inUse is Kueue's finalizer of Workloads, which the controller of a job takes off.
	inUse = "kueue.x-k8s.io/resource-in-use"
)

// TearDown does what a controller does to release a run, with the rights of a person: its tasks end, what carries its
// labels on its target goes, its way to the target too, and its Workload is let go. It returns what it could not
// verify: that is there perhaps, and nobody looks after it any more. clk tells how long to wait.
func TearDown(ctx context.Context, cfg *kube.Config, run Orphan, clk clock.Clock) (unverified []string) {
	hub, err := connect(cfg)
	if err != nil {
		return []string{fmt.Sprintf("anything of it is gone: connecting to the hub: %v", err)}
	}
	note := func(what string, err error) {
		if err != nil {
			unverified = append(unverified, what+": "+err.Error())
		}
	}
	note("its tasks have ended", endTasks(ctx, hub, run, clk))
	note(fmt.Sprintf("all its objects on target %q are deleted", run.Target), clearTarget(ctx, hub, run, clk))
	way := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: contract.TargetSecret(run.ID)}}
	note("its credentials for the target are deleted", client.IgnoreNotFound(hub.Delete(ctx, way)))
	if run.Metrics {
		note("its token for Prometheus is invalidated", endMetrics(ctx, hub, run))
	}
	note("its quota is released", letWorkloadsGo(ctx, hub, run))
	return unverified
}

// endTasks deletes the tasks of the run: Tekton does nothing more for one that is deleted, and its tasks would go on.
func endTasks(ctx context.Context, hub client.Client, run Orphan, clk clock.Clock) error {
	for _, attempt := range run.Attempts {
		of := []client.ListOption{client.InNamespace(run.Namespace),
			client.MatchingLabels{pipeline.PipelineRunLabelKey: attempt}}
		var tasks tektonv1.TaskRunList
		if err := hub.List(ctx, &tasks, of...); err != nil {
			return err
		}
		for i := range tasks.Items {
			if err := client.IgnoreNotFound(hub.Delete(ctx, &tasks.Items[i],
				client.PropagationPolicy(metav1.DeletePropagationBackground))); err != nil {
				return err
			}
		}
		err := untilNone(ctx, clk, func() (left []string, err error) {
			var pods corev1.PodList
			err = hub.List(ctx, &pods, append(of, client.HasLabels{pipeline.TaskRunLabelKey})...)
			for _, p := range pods.Items {
				if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
					left = append(left, "Pod "+p.Name)
				}
			}
			return left, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// clearTarget deletes what carries the labels of the run on its target. Without the identity of the hub nothing is
// touched: another hub may have a run of the same name there.
func clearTarget(ctx context.Context, hub client.Client, run Orphan, clk clock.Clock) error {
	id, err := identity(ctx, hub, []string{run.Namespace})
	if err != nil {
		return err
	}
	targets, err := ways(ctx, hub, []string{run.Target})
	if err != nil {
		return err
	}
	at := targets[0]
	if at.err != nil {
		return at.err
	}
	if err := endTokens(ctx, at, run); err != nil { // first: what they could make is cleared then
		return err
	}
	return untilNone(ctx, clk, func() (left []string, err error) {
		all, err := gc.List(ctx, at.client, at.name, id, run.Namespace, gc.ByRun(run.ID))
		if err != nil {
			return nil, err
		}
		for _, o := range all {
			left = append(left, o.String())
		}
		return left, gc.Delete(ctx, at.client, all, func(gc.Object) {})
	})
}

// endTokens deletes what the tokens of the run on a remote target are bound to.
func endTokens(ctx context.Context, at way, run Orphan) error {
	if at.name == contract.TargetLocal {
		return nil
	}
	for _, uid := range run.UIDs {
		grant := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: contract.GrantSecret(uid)}}
		if err := client.IgnoreNotFound(at.client.Delete(ctx, grant)); err != nil {
			return fmt.Errorf("invalidating its token: %w", err)
		}
	}
	return nil
}

// endMetrics deletes what the tokens of the run for its Prometheus are bound to. The one beside it goes with the run.
func endMetrics(ctx context.Context, hub client.Client, run Orphan) error {
	for _, uid := range run.UIDs {
		bond := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: contract.NamespaceSystem,
			Name: contract.MetricsBond(uid)}}
		if err := client.IgnoreNotFound(hub.Delete(ctx, bond)); err != nil {
			return err
		}
	}
	return nil
}

// untilNone looks until nothing is left.
func untilNone(ctx context.Context, clk clock.Clock, look func() (left []string, err error)) error {
	for began := clk.Now(); ; {
		left, err := look()
		switch {
		case err != nil || len(left) == 0:
			return err
		case clk.Since(began) > goneWithin:
			return fmt.Errorf("%s is there after %s", gc.Sentence(left), goneWithin)
		}
		select {
		case <-clk.After(lookEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// letWorkloadsGo takes Kueue's finalizer off the Workloads of the run, which go with it then, and their quota with
// them.
func letWorkloadsGo(ctx context.Context, hub client.Client, run Orphan) error {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "WorkloadList"})
	err := hub.List(ctx, all, client.InNamespace(run.Namespace))
	if apimeta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range all.Items {
		wl := &all.Items[i]
		mine := slices.ContainsFunc(wl.OwnerReferences, func(o metav1.OwnerReference) bool {
			return o.Kind == "PipelineRun" && slices.Contains(run.Attempts, o.Name)
		})
		kept := slices.DeleteFunc(slices.Clone(wl.Finalizers), func(f string) bool { return f == inUse })
		if !mine || len(kept) == len(wl.Finalizers) {
			continue
		}
		wl.SetGroupVersionKind(schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "Workload"})
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": kept}})
		if err == nil {
			err = client.IgnoreNotFound(hub.Patch(ctx, wl, client.RawPatch(types.MergePatchType, patch)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

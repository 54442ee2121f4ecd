package controller

import (
	"bflow.dev/bflow/tasks/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cacheOptions keep the memory small: of PipelineRuns and TaskRuns only ours, and of each object only what some
// reconciler reads. What decides about a quota is read past the cache anyway.
func cacheOptions(namespaces []string, system string) cache.Options {
	options := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&tektonv1.PipelineRun{}: {Label: ours(), Transform: slimRun},
			&tektonv1.TaskRun{}:     {Label: ours(), Transform: slimTask},
			&corev1.Pod{}:           {Label: ours(), Transform: slimPod},
			// matrices: custom runs of others are none of ours
			&tektonv1beta1.CustomRun{}: {Label: labels.SelectorFromSet(labels.Set{contract.LabelRole: contract.RoleMatrix})},
			// the way to targets, and no other Secret
			&corev1.Secret{}: {Label: having(contract.LabelTarget), Namespaces: map[string]cache.Config{system: {}}},
		},
	}
	if len(namespaces) > 0 {
		options.DefaultNamespaces = map[string]cache.Config{}
		for _, name := range namespaces {
			options.DefaultNamespaces[name] = cache.Config{}
		}
	}
	return options
}

func ours() labels.Selector { return having(contract.LabelPlanHash) }

func having(label string) labels.Selector {
	has, _ := labels.NewRequirement(label, selection.Exists, nil)
	return labels.NewSelector().Add(*has)
}

// slimRun leaves out the Pipeline, which is most of a run that has begun.
func slimRun(o any) (any, error) {
	if pr, ok := o.(*tektonv1.PipelineRun); ok {
		pr.ManagedFields = nil
		pr.Status.PipelineSpec = nil
		pr.Status.Provenance = nil
	}
	return o, nil
}

func slimTask(o any) (any, error) {
	if tr, ok := o.(*tektonv1.TaskRun); ok {
		tr.ManagedFields = nil
		tr.Status.TaskSpec = nil
		tr.Status.Steps = nil
		tr.Status.Provenance = nil
		tr.Status.RetriesStatus = nil
	}
	return o, nil
}

// slimPod keeps who a pod belongs to and how it is.
func slimPod(o any) (any, error) {
	if pod, ok := o.(*corev1.Pod); ok {
		pod.ManagedFields = nil
		pod.Annotations = nil
		pod.Spec = corev1.PodSpec{}
		pod.Status = corev1.PodStatus{Phase: pod.Status.Phase}
	}
	return o, nil
}

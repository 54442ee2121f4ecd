package check

import (
	"fmt"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// podSecurity checks the pod that Tekton would make of a Task against the level restricted. Tekton's own containers
// are not in it: its flag set-security-context covers them.
func podSecurity(obj any) []error {
	task, ok := obj.(*tektonv1.Task)
	if !ok {
		return nil
	}
	pod := corev1.PodSpec{Volumes: task.Spec.Volumes}
	steps, err := tektonv1.MergeStepsWithStepTemplate(task.Spec.StepTemplate, task.Spec.Steps)
	if err != nil {
		return []error{fmt.Errorf("merging the step template: %w", err)}
	}
	for _, s := range steps {
		pod.Containers = append(pod.Containers, *s.ToK8sContainer())
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return []error{fmt.Errorf("loading Pod Security policies: %w", err)}
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	var problems []error
	for _, r := range evaluator.EvaluatePod(level, &metav1.ObjectMeta{}, &pod) {
		if !r.Allowed {
			problems = append(problems, fmt.Errorf("pod security: %s: %s", r.ForbiddenReason, r.ForbiddenDetail))
		}
	}
	return problems
}

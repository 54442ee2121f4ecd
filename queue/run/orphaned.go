package run

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// unavailableFor is how long a controller has been away that does not just start again.
const unavailableFor = time.Minute

// Orphaned says whether nobody releases runs, by the Deployment of the controller, nil where there is none: it is not
// installed, has no replicas, or none of them has been available for a minute.
func Orphaned(controller *appsv1.Deployment, now time.Time) bool {
	if controller == nil || controller.Spec.Replicas != nil && *controller.Spec.Replicas == 0 {
		return true
	}
	return slices.ContainsFunc(controller.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionFalse &&
			now.Sub(c.LastTransitionTime.Time) > unavailableFor
	})
}

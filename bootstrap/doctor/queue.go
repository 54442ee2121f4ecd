package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/runplan/contract"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// queue checks what admits a run: queue of the namespace, queue of the target, admission check, quota.
func (d *doctor) queue(ctx context.Context) []Line {
	const check = "queue"
	if !slices.Contains(d.api.Versions("kueue.x-k8s.io"), "v1beta2") {
		return nil // check kueue says so
	}
	for _, part := range []struct{ resource, namespace, name string }{
		{"resourceflavors", "", contract.TargetLocal},
		{"admissionchecks", "", "bflow-" + contract.TargetLocal},
		{"clusterqueues", "", contract.TargetLocal},
		{"localqueues", d.Namespace, contract.TargetLocal},
	} {
		o, err := d.get(ctx, kube.Kueue(part.resource, part.namespace, part.name))
		if apierrors.IsNotFound(err) {
			return []Line{fail(check, d.inNamespace(), "%s %q is missing", part.resource, part.name)}
		}
		if apierrors.IsForbidden(err) && part.namespace == "" {
			continue // people may read the queue of their namespace, which is active only if the ClusterQueue is
		}
		if err != nil {
			return unreadable(check, err)
		}
		if line, bad := inactive(check, part.resource, o); bad {
			return []Line{line}
		}
		if part.resource == "clusterqueues" {
			if line := d.quota(ctx, o); line.Level != OK {
				return []Line{line}
			}
		}
	}
	return []Line{ok(check, "runs of namespace %s wait in queue %s for target %s", d.Namespace, contract.TargetLocal,
		contract.TargetLocal)}
}

// inactive returns the line of an object that exists and does not work.
func inactive(check, resource string, o *unstructured.Unstructured) (Line, bool) {
	if policy, _, _ := unstructured.NestedString(o.Object, "spec", "stopPolicy"); policy != "" && policy != "None" {
		return fail(check, fmt.Sprintf("kubectl patch %s %s --type merge -p '{\"spec\":{\"stopPolicy\":\"None\"}}'", resource,
			o.GetName()),
			"%s %q is stopped (%s)", resource, o.GetName(), policy), true
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["type"] == "Active" && condition["status"] != "True" {
			return fail(check, "check that bflow-controller and Kueue are running", "%s %q is not active: %v", resource,
				o.GetName(), condition["message"]), true
		}
	}
	if resource == "admissionchecks" && len(conditions) == 0 {
		return fail(check, "check that bflow-controller is running", "admission check %q has no active controller yet",
			o.GetName()), true
	}
	return Line{}, false
}

// quota compares the quota of the queue with the devices of the nodes.
func (d *doctor) quota(ctx context.Context, queue *unstructured.Unstructured) Line {
	const check = "queue"
	groups, _, _ := unstructured.NestedSlice(queue.Object, "spec", "resourceGroups")
	var covered []string
	for _, g := range groups {
		group, _ := g.(map[string]any)
		names, _, _ := unstructured.NestedStringSlice(group, "coveredResources")
		covered = append(covered, names...)
	}
	if len(covered) == 0 {
		return fail(check, "check that bflow-controller is running: it sets the quota from the nodes",
			"queue %s has no quota yet, so nothing is admitted", queue.GetName())
	}
	nodes, err := d.readNodes(ctx)
	if err != nil {
		return ok(check, "")
	}
	for _, g := range nodes.Devices {
		if !slices.Contains(covered, g.Resource) {
			return fail(check, "check that bflow-controller is running: it sets the quota from the nodes",
				"queue %s covers %s, but not %s of the nodes", queue.GetName(), strings.Join(covered, ", "), g.Resource)
		}
	}
	return ok(check, "")
}

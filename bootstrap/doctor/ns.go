package doctor

import (
	"context"
	"fmt"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// policy checks the rules by which the API server rejects runs that would bypass their queue.
func (d *doctor) policy(ctx context.Context) []Line {
	const check = "policy"
	if !d.platform.AdmissionPolicy {
		return []Line{warn(check, "update the cluster to Kubernetes "+minKubernetes+" or later",
			"the API server does not support admission policies")}
	}
	for _, resource := range []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"} {
		at := kube.In("admissionregistration.k8s.io", "v1", resource)
		at.Name = "bflow-runs"
		_, err := d.get(ctx, at)
		if apierrors.IsNotFound(err) {
			return []Line{fail(check, bootstrap, "%s bflow-runs is missing: runs can start without passing their queue",
				resource)}
		}
		if err != nil {
			return unreadable(check, err)
		}
	}
	return []Line{ok(check, "the API server enforces the rules for runs")}
}

// inNamespace returns the remedy for what is missing in a namespace: that namespace alone if bflow is installed.
func (d *doctor) inNamespace() string {
	if d.deployed != nil {
		return "run bflow bootstrap namespace add " + d.Namespace
	}
	return bootstrap + " --namespace " + d.Namespace
}

// namespace checks what bootstrap puts into a namespace of runs.
func (d *doctor) namespace(ctx context.Context) []Line {
	const check = "namespace"
	ns, err := d.get(ctx, kube.Core("namespaces", "", d.Namespace))
	switch {
	case apierrors.IsNotFound(err):
		return []Line{fail(check, d.inNamespace(), "namespace %s does not exist", d.Namespace)}
	case err == nil && ns.GetLabels()[contract.LabelEnabled] != "true":
		return []Line{fail(check, d.inNamespace(), "namespace %s is not for runs: label %s=true is missing", d.Namespace,
			contract.LabelEnabled)}
	case err != nil && !apierrors.IsForbidden(err): // people often may not read their own namespace
		return unreadable(check, err)
	}
	hub, err := kube.Get[corev1.ConfigMap](ctx, d.client, kube.Core("configmaps", d.Namespace, contract.ConfigMapHub))
	if apierrors.IsNotFound(err) {
		return []Line{fail(check, d.inNamespace(), "ConfigMap %s is missing in namespace %s", contract.ConfigMapHub,
			d.Namespace)}
	}
	if err != nil {
		return unreadable(check, err)
	}
	d.images = hub.Data[contract.HubImages]
	if id := hub.Data[contract.HubKey]; d.platform.Hub != "" && id != d.platform.Hub {
		return []Line{fail(check, d.inNamespace(), "ConfigMap %s in %s belongs to another cluster: %q, but this is %q",
			contract.ConfigMapHub, d.Namespace, id, d.platform.Hub)}
	}
	for _, account := range []string{contract.AccountRunner, contract.AccountLoad} {
		_, err := d.get(ctx, kube.Core("serviceaccounts", d.Namespace, account))
		if apierrors.IsNotFound(err) {
			return []Line{fail(check, d.inNamespace(), "ServiceAccount %s is missing in namespace %s", account, d.Namespace)}
		}
		if err != nil {
			return unreadable(check, err)
		}
	}
	return []Line{ok(check, "namespace %s is set up for runs", d.Namespace)}
}

// podSecurity checks what the namespace enforces. Runs fit the strictest level.
func (d *doctor) podSecurity(ctx context.Context) []Line {
	const check, label = "pod security", "pod-security.kubernetes.io/enforce"
	ns, err := d.get(ctx, kube.Core("namespaces", "", d.Namespace))
	if err != nil {
		return unreadable(check, err)
	}
	switch level := ns.GetLabels()[label]; level {
	case "restricted":
		return []Line{ok(check, "namespace %s is restricted, and runs fit it", d.Namespace)}
	case "baseline":
		return []Line{ok(check, "namespace %s is %s; runs would fit restricted as well", d.Namespace, level)}
	default:
		if level == "" {
			level = "nothing"
		}
		return []Line{warn(check, fmt.Sprintf("kubectl label namespace %s --overwrite %s=restricted", d.Namespace, label),
			"namespace %s enforces %s: whoever may start runs there can take over the node", d.Namespace, level)}
	}
}

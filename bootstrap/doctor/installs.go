package doctor

import (
	"context"
	"fmt"
	"strings"

	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/runplan/contract"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Oldest versions that bflow is tested with.
const (
	minTekton = "v1.13.0"
	minKueue  = "v0.18.0" // serves kueue.x-k8s.io/v1beta2, and stores it
)

func (d *doctor) tekton(ctx context.Context) []Line {
	const check = "tekton"
	var tekton component.Tekton
	err := tekton.Detect(ctx, d.cluster, d.api)
	i := tekton.Install
	switch {
	case err != nil && !i.Present:
		return unreadable(check, err)
	case !i.Present:
		return []Line{fail(check, bootstrap, "Tekton Pipelines is not installed, or too old to serve tekton.dev/v1")}
	case err != nil:
		return unreadable(check, err)
	}
	line := d.installed(ctx, check, "Tekton Pipelines", i, minTekton)
	if line.Level == OK && d.isDown(ctx, i.Namespace, "tekton-pipelines-webhook") {
		line = fail(check, fmt.Sprintf("check its pods: kubectl get pods -n %s", i.Namespace),
			"Deployment tekton-pipelines-webhook in %s is not available%s: no run can be created, and none makes progress",
			i.Namespace, d.trouble(ctx, i.Namespace))
	}
	if line.Level != OK || d.platform.IsOpenShift() {
		return []Line{line}
	}
	return []Line{d.tektonSecurity(ctx, i)}
}

// isDown reports whether a Deployment exists and is not available.
func (d *doctor) isDown(ctx context.Context, namespace, name string) bool {
	o, err := kube.Get[appsv1.Deployment](ctx, d.client, kube.Apps("deployments", namespace, name))
	// other distributions name it differently; if it may not be read, other checks say so
	return err == nil && o.Status.AvailableReplicas == 0
}

// tektonSecurity checks the one flag that runs need: the containers that Tekton adds to a pod must fit a restricted
// namespace, as ours do. On OpenShift the platform sets what is missing.
func (d *doctor) tektonSecurity(ctx context.Context, i detect.Install) Line {
	const check = "tekton"
	flags, err := kube.Get[corev1.ConfigMap](ctx, d.client, kube.Core("configmaps", i.Namespace, "feature-flags"))
	if err != nil {
		return unreadable(check, err)[0]
	}
	if flags.Data["set-security-context"] != "true" {
		return fail(check,
			fmt.Sprintf(`kubectl patch configmap feature-flags -n %s --type merge -p '{"data":{"set-security-context":"true"}}'`,
				i.Namespace),
			"Tekton Pipelines %s adds containers to pods that a restricted namespace refuses (flag set-security-context)",
			i.Version)
	}
	return ok(check, "Tekton Pipelines %s (%s) in %s", i.Version, i.By, i.Namespace)
}

func (d *doctor) kueue(ctx context.Context) []Line {
	const check = "kueue"
	var k component.Kueue
	err := k.Detect(ctx, d.cluster, d.api)
	i := k.Install
	switch {
	case !i.Present && err != nil:
		return unreadable(check, err)
	case !i.Present:
		return []Line{fail(check, bootstrap, "Kueue is not installed")}
	case !k.Usable():
		return []Line{fail(check, "update Kueue to "+minKueue+" or later", "Kueue serves %s, and not v1beta2",
			strings.Join(k.Served, ", "))}
	case err != nil:
		return unreadable(check, err)
	}
	line := d.installed(ctx, check, "Kueue", i, minKueue)
	if line.Level == OK && k.ManagesPods() {
		line = warn(check,
			"remove pod from integrations.frameworks of Kueue, or keep it: bflow-controller then creates the Workloads of runs",
			"Kueue %s (%s) manages single pods too, so runs may carry no queue label", i.Version, i.By)
	}
	return []Line{line}
}

// installed checks software that is on the cluster.
func (d *doctor) installed(ctx context.Context, check, what string, i detect.Install, oldest string) Line {
	switch {
	case i.Namespace == "":
		return fail(check, bootstrap, "the API of %s is served, but its controller was not found", what)
	case !i.Ready:
		return fail(check, fmt.Sprintf("check its pods: kubectl get pods -n %s", i.Namespace),
			"%s %s in %s is not available%s", what, i.Version, i.Namespace, d.trouble(ctx, i.Namespace))
	case older(i.Version, oldest):
		return warn(check, fmt.Sprintf("update it to %s or later", oldest),
			"%s %s (%s) is older than what bflow is tested with, %s", what, i.Version, i.By, oldest)
	default:
		return ok(check, "%s %s (%s) in %s", what, i.Version, i.By, i.Namespace)
	}
}

// trouble returns why a pod of a namespace does not start, "" if that is not known.
func (d *doctor) trouble(ctx context.Context, namespace string) string {
	pods, err := kube.List[corev1.Pod](ctx, d.client, kube.Core("pods", namespace, ""), kube.Selector{})
	if err != nil {
		return ""
	}
	for i := range pods {
		if reason := podFailure(&pods[i]); reason != "" {
			return ": pod " + pods[i].Name + ": " + reason
		}
	}
	return ""
}

func (d *doctor) controller(ctx context.Context) []Line {
	const check = "controller"
	at := kube.Apps("deployments", contract.NamespaceSystem, contract.AccountController)
	o, err := kube.Get[appsv1.Deployment](ctx, d.client, at)
	if apierrors.IsNotFound(err) {
		return []Line{fail(check, bootstrap, "bflow-controller is not installed: runs would wait forever")}
	}
	if err != nil {
		return unreadable(check, err)
	}
	d.deployed = o
	if o.Status.AvailableReplicas == 0 {
		look := "check its pod and its log: kubectl describe pods -n %[1]s; kubectl logs -n %[1]s deployment/%[2]s"
		return []Line{fail(check, fmt.Sprintf(look, contract.NamespaceSystem, contract.AccountController),
			"bflow-controller is not available%s", d.trouble(ctx, contract.NamespaceSystem))}
	}
	if v := o.Labels["app.kubernetes.io/version"]; v != "" && d.Version != "" && v != d.Version {
		return []Line{warn(check, "run bflow bootstrap upgrade, or use bflow "+v,
			"bflow-controller is %s and this bflow is %s", v, d.Version)}
	}
	return []Line{ok(check, "bflow-controller %s", d.Version)}
}

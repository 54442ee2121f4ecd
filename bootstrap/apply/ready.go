package apply

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Condition judges an object, which is nil if it does not exist. If it is not satisfied, it returns the reason as half
// a sentence.
type Condition func(*unstructured.Unstructured) (bool, string)

// Established is satisfied when a CRD serves its kind and a namespace accepts objects. Other kinds need only exist.
func Established(u *unstructured.Unstructured) (bool, string) {
	if u == nil {
		return false, "it is not there"
	}
	switch u.GetKind() {
	case "CustomResourceDefinition":
		return conditionTrue(u, "Established")
	case "Namespace":
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		return phase == "Active", "it is " + phase
	}
	return true, ""
}

// Ready is satisfied when an object works: a Deployment is available, a webhook has its rules and its certificate, a
// queue is active.
func Ready(u *unstructured.Unstructured) (bool, string) {
	if ok, why := Established(u); !ok {
		return false, why
	}
	switch RefOf(u).GroupKind().String() {
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return hasConversionCertificate(u)
	case "Deployment.apps":
		return isAvailable(u)
	case "APIService.apiregistration.k8s.io":
		return conditionTrue(u, "Available")
	case "MutatingWebhookConfiguration.admissionregistration.k8s.io",
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io":
		return hasWebhookRules(u)
	case "ClusterQueue.kueue.x-k8s.io", "LocalQueue.kueue.x-k8s.io", "AdmissionCheck.kueue.x-k8s.io":
		return conditionTrue(u, "Active")
	}
	return true, ""
}

// Gone is satisfied when the object does not exist.
func Gone(u *unstructured.Unstructured) (bool, string) {
	if u == nil {
		return true, ""
	}
	if left := u.GetFinalizers(); len(left) > 0 {
		return false, fmt.Sprintf("finalizers %q are still on it", left)
	}
	for _, kind := range []string{"NamespaceContentRemaining", "NamespaceFinalizersRemaining",
		"NamespaceDeletionDiscoveryFailure", "NamespaceDeletionContentFailure"} {
		if is, message := condition(u, kind); is == "True" {
			return false, message
		}
	}
	if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase == "Terminating" {
		return false, "its content is being deleted"
	}
	return false, "it is still there"
}

func isAvailable(u *unstructured.Unstructured) (bool, string) {
	generation, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	want, found, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
	if !found {
		want = 1
	}
	updated, _, _ := unstructured.NestedInt64(u.Object, "status", "updatedReplicas")
	available, _, _ := unstructured.NestedInt64(u.Object, "status", "availableReplicas")
	all, _, _ := unstructured.NestedInt64(u.Object, "status", "replicas")
	switch {
	case generation < u.GetGeneration():
		return false, "its controller has not observed it yet"
	case updated < want:
		return false, fmt.Sprintf("%d of %d pods are of the new version", updated, want)
	case available < want:
		return false, fmt.Sprintf("%d of %d ready", available, want)
	case all > want:
		return false, fmt.Sprintf("%d old pods have not ended yet", all-want)
	}
	return true, ""
}

// hasConversionCertificate reports whether a CRD with a conversion webhook has the certificate of the webhook.
func hasConversionCertificate(u *unstructured.Unstructured) (bool, string) {
	client, found, _ := unstructured.NestedMap(u.Object, "spec", "conversion", "webhook", "clientConfig")
	if found && client["caBundle"] == nil {
		return false, "its conversion webhook has no certificate yet"
	}
	return true, ""
}

// hasWebhookRules reports whether the workload that serves a webhook has completed its configuration. A webhook
// without rules is not called, so that everything passes.
func hasWebhookRules(u *unstructured.Unstructured) (bool, string) {
	hooks, _, _ := unstructured.NestedSlice(u.Object, "webhooks")
	for _, h := range hooks {
		hook, ok := h.(map[string]any)
		if !ok {
			continue
		}
		if rules, _, _ := unstructured.NestedSlice(hook, "rules"); len(rules) == 0 {
			return false, fmt.Sprintf("webhook %v has no rules yet", hook["name"])
		}
		if ca, _, _ := unstructured.NestedString(hook, "clientConfig", "caBundle"); ca == "" {
			return false, fmt.Sprintf("webhook %v has no certificate yet", hook["name"])
		}
	}
	return true, ""
}

func conditionTrue(u *unstructured.Unstructured, kind string) (bool, string) {
	status, message := condition(u, kind)
	switch {
	case status == "True":
		return true, ""
	case message != "":
		return false, message
	}
	return false, "it is not " + kind + " yet"
}

// condition returns the status and the message of a condition, both empty if it is not set.
func condition(u *unstructured.Unstructured, kind string) (status, message string) {
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, entry := range all {
		if c, ok := entry.(map[string]any); ok && c["type"] == kind {
			status, _ = c["status"].(string)
			message, _ = c["message"].(string)
		}
	}
	return status, message
}

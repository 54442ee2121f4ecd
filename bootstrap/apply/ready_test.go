package apply

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	doc, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(doc); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestReady(t *testing.T) {
	const deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, generation: 2}, "
	const hook = "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: " +
		"m}, webhooks: "
	const crd = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: c}, "
	for _, row := range []struct{ name, object, why string }{
		{name: "a ConfigMap need only be there", object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"},
		{name: "a namespace that ends is not ready",
			object: "{apiVersion: v1, kind: Namespace, metadata: {name: n}, status: {phase: Terminating}}",
			why:    "it is Terminating"},
		{name: "a Deployment nobody has looked at", object: deployment +
			"status: {observedGeneration: 1, updatedReplicas: 1, availableReplicas: 1, replicas: 1}}",
			why: "its controller has not observed it yet"},
		{name: "a Deployment of old pods", object: deployment +
			"status: {observedGeneration: 2, updatedReplicas: 0, availableReplicas: 1, replicas: 1}}",
			why: "0 of 1 pods are of the new version"},
		{name: "a Deployment that starts", object: deployment +
			"spec: {replicas: 2}, status: {observedGeneration: 2, updatedReplicas: 2, availableReplicas: 1, replicas: 2}}",
			why: "1 of 2 ready"},
		{name: "a Deployment whose old pod lingers", object: deployment +
			"status: {observedGeneration: 2, updatedReplicas: 1, availableReplicas: 1, replicas: 2}}", why: "1 old pods"},
		{name: "a Deployment that is available", object: deployment +
			"status: {observedGeneration: 2, updatedReplicas: 1, availableReplicas: 1, replicas: 1}}"},
		{name: "a Deployment scaled to nothing is as wanted",
			object: deployment + "spec: {replicas: 0}, status: {observedGeneration: 2}}"},
		{name: "a webhook without rules lets everything pass", object: hook + "[{name: a, clientConfig: {caBundle: eA==}}]}",
			why: "webhook a has no rules"},
		{name: "a webhook without a certificate refuses everything",
			object: hook + "[{name: a, rules: [{resources: [jobs]}], clientConfig: {}}]}", why: "webhook a has no certificate"},
		{name: "a webhook that is filled in", object: hook +
			"[{name: a, rules: [{resources: [jobs]}], clientConfig: {caBundle: eA==}}]}"},
		{name: "a CRD whose names are not accepted", object: crd +
			"status: {conditions: [{type: Established, status: 'False', message: no names}]}}", why: "no names"},
		{name: "a CRD that converts without a certificate",
			object: crd +
				"spec: {conversion: {webhook: {clientConfig: {}}}}, status: {conditions: [{type: Established, status: 'True'}]}}",
			why: "conversion webhook"},
		{name: "a CRD that serves", object: crd + "status: {conditions: [{type: Established, status: 'True'}]}}"},
		{name: "an API whose server is away",
			object: "{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}}", why: "not Available yet"},
		{name: "a queue without its check",
			object: "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: q}, status: {conditions: " +
				"[{type: Active, status: 'False', message: no check}]}}", why: "no check"},
	} {
		t.Run(row.name, func(t *testing.T) {
			ok, why := Ready(parse(t, row.object))
			if ok != (row.why == "") || !strings.Contains(why, row.why) {
				t.Errorf("got %v, %q; want %q", ok, why, row.why)
			}
		})
	}
	if ok, _ := Ready(nil); ok {
		t.Error("what is not there is ready")
	}
}

package apply

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/internal/kube"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// live is a real cluster and a namespace on it that goes away with the test.
func live(t *testing.T) (*Cluster, string) {
	t.Helper()
	path := os.Getenv("BFLOW_E2E_KUBECONFIG")
	if path == "" {
		t.Skip("BFLOW_E2E_KUBECONFIG names no cluster to apply objects to")
	}
	cfg, _, err := kube.Source{File: path}.Read()
	if err != nil {
		t.Fatal(err)
	}
	api, err := kube.New(cfg, "")
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := New(api)
	if err != nil {
		t.Fatal(err)
	}
	const name = "bflow-apply-test"
	ref := Ref{Kind: "Namespace", Name: name}
	clear := func() {
		ctx := eventually.Context(t)
		if _, err := cluster.Delete(ctx, ref); err != nil {
			t.Error(err)
		}
		if err := cluster.Wait(ctx, []Ref{ref}, Gone, nil); err != nil {
			t.Error(err)
		}
	}
	clear()
	t.Cleanup(clear)
	mustApply(t, cluster, makeObject("v1", "Namespace", "", name), Options{})
	return cluster, name
}

func mustApply(t *testing.T, c *Cluster, o *unstructured.Unstructured, options Options) Change {
	t.Helper()
	change, err := c.Apply(t.Context(), o, options)
	if err != nil {
		t.Fatal(err)
	}
	return change
}

func TestApplyingTwiceChangesNothing(t *testing.T) {
	cluster, namespace := live(t)
	config := parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: one}}")
	config.SetNamespace(namespace)

	if got := mustApply(t, cluster, config, Options{DryRun: true}); got.Action != Created ||
		!strings.Contains(got.Diff(), "+  a: one") {
		t.Errorf("a dry run says %s\n%s", got.Action, got.Diff())
	}
	if u, err := cluster.Get(t.Context(), RefOf(config)); u != nil || err != nil {
		t.Errorf("a dry run left %v, %v", u, err)
	}
	if got := mustApply(t, cluster, config, Options{}); got.Action != Created {
		t.Errorf("the first time is %s", got.Action)
	}
	first, err := cluster.Get(t.Context(), RefOf(config))
	if err != nil || !Owns(first) {
		t.Fatalf("%v, %v", first, err)
	}
	again := mustApply(t, cluster, config, Options{})
	if again.Action != Unchanged || again.After.GetResourceVersion() != first.GetResourceVersion() {
		t.Errorf("the second time is %s", again.Action)
	}
	config.Object["data"] = map[string]any{"b": "two"}
	changed := mustApply(t, cluster, config, Options{})
	if data, _, _ := unstructured.NestedStringMap(changed.After.Object, "data"); changed.Action != Changed ||
		len(data) != 1 || data["b"] != "two" {
		t.Errorf("a field that is no longer applied stays: %s, %v", changed.Action, data)
	}
}

func TestFieldsOfOthersAreTakenOnlyByForce(t *testing.T) {
	cluster, namespace := live(t)
	config := parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: ours}}")
	config.SetNamespace(namespace)
	mustApply(t, cluster, config, Options{})
	theirs := map[string]any{"data": map[string]any{"a": "theirs", "b": "more"}}
	if err := cluster.As("somebody").Merge(t.Context(), RefOf(config), theirs); err != nil {
		t.Fatal(err)
	}
	_, err := cluster.Apply(t.Context(), config, Options{})
	var conflict *ConflictError
	if !errors.As(err, &conflict) || len(conflict.Fields) != 1 || !strings.Contains(conflict.Fields[0], `"somebody"`) ||
		!strings.HasSuffix(conflict.Fields[0], ".data.a") {
		t.Fatalf("got %v", err)
	}
	forced := mustApply(t, cluster, config, Options{Force: true})
	data, _, _ := unstructured.NestedStringMap(forced.After.Object, "data")
	if data["a"] != "ours" || data["b"] != "more" {
		t.Errorf("data is %v: want our field, and theirs", data)
	}
}

func TestGivingBackKeepsWhatOthersWrote(t *testing.T) {
	cluster, namespace := live(t)
	theirs := parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {theirs: x}}}")
	at := kube.Core("configmaps", namespace, "")
	if err := cluster.api.Create(t.Context(), at, theirs, nil, kube.Write{Manager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	config := parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {ours: mine}}}")
	config.SetNamespace(namespace)
	mustApply(t, cluster, config, Options{})
	if err := cluster.Release(t.Context(), RefOf(config), "v1"); err != nil {
		t.Fatal(err)
	}
	u, err := cluster.Get(t.Context(), RefOf(config))
	if err != nil || Owns(u) || len(u.GetLabels()) != 1 || u.GetLabels()["theirs"] != "x" {
		t.Errorf("labels are %v, %v", u.GetLabels(), err)
	}
}

func TestACRDIsServedWhenItsPhaseIsOver(t *testing.T) {
	cluster, namespace := live(t)
	crd := parse(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tries.test.bflow.dev}, spec: {
  group: test.bflow.dev, scope: Namespaced, names: {plural: tries, singular: try, kind: Try, listKind: TryList},
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`)
	object := makeObject("test.bflow.dev/v1", "Try", namespace, "one")
	if got := mustApply(t, cluster, object, Options{DryRun: true}); !got.Unchecked {
		t.Error("a dry run of an unknown kind is said to be checked")
	}
	t.Cleanup(func() {
		if _, err := cluster.Delete(context.Background(), RefOf(crd)); err != nil {
			t.Error(err)
		}
	})
	mustApply(t, cluster, crd, Options{})
	if err := cluster.Wait(eventually.Context(t), []Ref{RefOf(crd)}, Established, nil); err != nil {
		t.Fatal(err)
	}
	if got := mustApply(t, cluster, object, Options{}); got.Action != Created {
		t.Errorf("got %s", got.Action)
	}
}

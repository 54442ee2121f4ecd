package objects_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/runplan/contract"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

var update = flag.Bool("update", false, "rewrite the lists of objects")

// full is a configuration with everything.
func full() objects.Config {
	return objects.Config{
		Version: "v0.1.0", Namespaces: []string{"bench", "nightly"}, Hub: "5d1c", LoadNodes: map[string]string{"pool": "cpu"},
		LoadCPU: "250m",
		Pieces: pieces(component.Settings{"replicas": []byte("3"), "networkPolicies": []byte("true")}, &component.Replicas{},
			&component.Network{},
			&component.Prometheus{Served: true, Labels: map[string]string{"release": "prom"}},
			&component.Dashboard{Operator: true}, &component.Triggers{Served: true}),
	}
}

// pieces returns what components add to the objects of bflow.
func pieces(s component.Settings, all ...component.Component) []objects.Piece {
	var pieces []objects.Piece
	for _, c := range all {
		out, err := c.Render(component.Site{Settings: s})
		if err != nil {
			panic(err)
		}
		pieces = append(pieces, out.Piece)
	}
	return pieces
}

func objectsOf(t *testing.T, c objects.Config) []*unstructured.Unstructured {
	t.Helper()
	all, err := objects.Objects(c)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func find(t *testing.T, all []*unstructured.Unstructured, kind, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	for _, o := range all {
		if o.GetKind() == kind && o.GetNamespace() == namespace && o.GetName() == name {
			return o
		}
	}
	t.Fatalf("there is no %s %s/%s", kind, namespace, name)
	return nil
}

func TestObjectsAreThoseOfTheList(t *testing.T) {
	for name, c := range map[string]objects.Config{
		"vanilla": {}, "openshift": {Overlay: objects.OpenShift}, "air-gapped": {Overlay: objects.AirGapped},
		"dev": {Overlay: objects.Dev}, "full": full(),
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			for _, o := range objectsOf(t, c) {
				fmt.Fprintln(&got, strings.TrimSpace(o.GetKind()+" "+strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/")))
			}
			file := "testdata/" + name + ".txt"
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s is another list (-want +got); run go test ./bootstrap/objects -update\n%s", file, diff)
			}
		})
	}
}

func TestTwoCallsGiveTheSameObjects(t *testing.T) {
	if diff := cmp.Diff(objectsOf(t, full()), objectsOf(t, full())); diff != "" {
		t.Error(diff)
	}
}

func TestEveryObjectSaysWhoseItIs(t *testing.T) {
	for _, o := range objectsOf(t, full()) {
		for key, want := range map[string]string{"app.kubernetes.io/part-of": "bflow", contract.LabelManagedBy: "bflow",
			"app.kubernetes.io/version": "v0.1.0"} {
			if got := o.GetLabels()[key]; got != want {
				t.Errorf("%s %q: label %s is %q, want %q", o.GetKind(), o.GetName(), key, got, want)
			}
		}
		if o.GetLabels()[contract.LabelRun] != "" || o.GetLabels()[contract.LabelRelease] != "" {
			t.Errorf("%s %q looks like a part of a run", o.GetKind(), o.GetName())
		}
	}
}

func TestEveryNamespaceOfRunsIsComplete(t *testing.T) {
	all := objectsOf(t, full())
	for _, namespace := range []string{"bench", "nightly"} {
		if got := find(t, all, "Namespace", "", namespace).GetLabels()[contract.LabelEnabled]; got != "true" {
			t.Errorf("namespace %s is not for runs", namespace)
		}
		for _, account := range []string{"bflow-runner", "bflow-submit", "bflow-listener", "bflow-load"} {
			find(t, all, "ServiceAccount", namespace, account)
		}
		find(t, all, "LocalQueue", namespace, "local")
		runner, _, _ := unstructured.NestedSlice(find(t, all, "RoleBinding", namespace, "bflow-runner").Object, "subjects")
		nodes, _, _ := unstructured.NestedSlice(find(t, all, "ClusterRoleBinding", "", "bflow-nodes-"+namespace).Object,
			"subjects")
		for _, row := range []struct {
			subjects []any
			want     string
		}{{runner, namespace}, {nodes, namespace}} {
			if got := row.subjects[0].(map[string]any)["namespace"]; got != row.want {
				t.Errorf("a binding of %s speaks of an account in %v, want %s", namespace, got, row.want)
			}
		}
		events, _, _ := unstructured.NestedSlice(find(t, all, "TriggerTemplate", namespace, "bflow-notice").Object, "spec",
			"resourcetemplates")
		if about := events[0].(map[string]any)["involvedObject"].(map[string]any); about["namespace"] != namespace {
			t.Errorf("an Event of %s speaks of an object in %v, which the API server refuses", namespace, about["namespace"])
		}
		data, _, _ := unstructured.NestedStringMap(find(t, all, "ConfigMap", namespace, contract.ConfigMapHub).Object, "data")
		want := map[string]string{"hub": "5d1c", "platform": "kubernetes", "load-nodes": "pool=cpu", "load-cpu": "250m",
			"images": "localhost/bflow"}
		if diff := cmp.Diff(want, data); diff != "" {
			t.Error(diff)
		}
	}
	if slices.ContainsFunc(all, func(o *unstructured.Unstructured) bool {
		return o.GetNamespace() == objects.DefaultNamespace
	}) {
		t.Error("something lies in the default namespace though others were named")
	}
}

func TestTheControllersImage(t *testing.T) {
	const digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	for _, row := range []struct {
		name   string
		config objects.Config
		want   string
	}{
		{"the version is the tag", objects.Config{Version: "v1.2.0+dirty"}, "localhost/bflow/bflow-controller:v1.2.0-dirty"},
		{"a registry with a port and no tag", objects.Config{Image: "192.0.2.1:5000/bflow/bflow-controller"},
			"192.0.2.1:5000/bflow/bflow-controller:dev"},
		{"a tag", objects.Config{Image: "reg.example/x/ctl:v1"}, "reg.example/x/ctl:v1"},
		{"a digest", objects.Config{Image: "reg.example/x/ctl@" + digest}, "reg.example/x/ctl@" + digest},
		{"a digest wins over a tag", objects.Config{Image: "reg.example:5000/x/ctl:v1@" + digest},
			"reg.example:5000/x/ctl@" + digest},
		{"an overlay that names a mirror", objects.Config{Overlay: objects.AirGapped,
			Image: "mirror.corp/bflow/bflow-controller:v1"}, "mirror.corp/bflow/bflow-controller:v1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := find(t, objectsOf(t, row.config), "Deployment", "bflow-system", "bflow-controller")
			containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
			if got := containers[0].(map[string]any)["image"]; got != row.want {
				t.Errorf("got %v, want %s", got, row.want)
			}
		})
	}
}

func TestTheControllersArguments(t *testing.T) {
	for _, row := range []struct {
		name   string
		config objects.Config
		want   []string
	}{
		{"none but what is wished: namespaces of runs are known by their label", full(), []string{}},
		{"a Kueue that manages pods", objects.Config{Pieces: pieces(nil,
			&component.Kueue{Install: detect.Install{Present: true, By: detect.ByUpstream}, Frameworks: []string{"pod"}})},
			[]string{"--prebuilt-workloads"}},
		{"more flags", objects.Config{Flags: []string{"--force-after=1m"}}, []string{"--force-after=1m"}},
		{"a cluster to try things on", objects.Config{Overlay: objects.Dev}, []string{"--log-level=debug"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := find(t, objectsOf(t, row.config), "Deployment", "bflow-system", "bflow-controller")
			containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
			args, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
			if diff := cmp.Diff(row.want, args); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestAnUnknownOverlayIsAnError(t *testing.T) {
	if _, err := objects.Objects(objects.Config{Overlay: "k3s"}); err == nil ||
		!strings.Contains(err.Error(), `rendering overlay "k3s"`) {
		t.Errorf("got %v", err)
	}
}

func TestOnlyPrometheusObjectsCarryItsLabels(t *testing.T) {
	for _, o := range objectsOf(t, full()) {
		if _, ok := o.GetLabels()["release"]; ok != (o.GroupVersionKind().Group == "monitoring.coreos.com") {
			t.Errorf("%s %q: label release is there: %v", o.GetKind(), o.GetName(), ok)
		}
	}
}

// TestPlainKustomizeBuildsEveryOverlay reads the folders from disk, as a person would. Pipeline bflow-experiment and
// its Task are no YAML.
func TestPlainKustomizeBuildsEveryOverlay(t *testing.T) {
	for _, overlay := range []string{objects.Vanilla, objects.OpenShift, objects.AirGapped, objects.Dev} {
		built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../overlays/"+overlay)
		if err != nil {
			t.Errorf("%s: %v", overlay, err)
			continue
		}
		if built.Size()+2 != len(objectsOf(t, objects.Config{Overlay: overlay})) {
			t.Errorf("%s: kustomize makes %d objects, bootstrap %d", overlay, built.Size(),
				len(objectsOf(t, objects.Config{Overlay: overlay})))
		}
	}
}

// TestMoreThanOneController: as many as are asked for, on different nodes if possible, and at least one while nodes
// are drained.
func TestMoreThanOneController(t *testing.T) {
	deployment := find(t, objectsOf(t, full()), "Deployment", contract.NamespaceSystem, contract.AccountController)
	if n, _, _ := unstructured.NestedFieldNoCopy(deployment.Object, "spec", "replicas"); fmt.Sprint(n) != "3" {
		t.Errorf("%v replicas", n)
	}
	labels, _, _ := unstructured.NestedStringMap(deployment.Object, "spec", "template", "metadata", "labels")
	budget := find(t, objectsOf(t, full()), "PodDisruptionBudget", contract.NamespaceSystem, contract.AccountController)
	selected, _, _ := unstructured.NestedStringMap(budget.Object, "spec", "selector", "matchLabels")
	terms, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "affinity", "podAntiAffinity",
		"preferredDuringSchedulingIgnoredDuringExecution")
	if len(terms) != 1 || len(selected) == 0 {
		t.Fatalf("the budget selects %v; affinity has %d terms", selected, len(terms))
	}
	apart, _, _ := unstructured.NestedStringMap(terms[0].(map[string]any), "podAffinityTerm", "labelSelector",
		"matchLabels")
	for _, by := range []map[string]string{selected, apart} {
		for key, value := range by {
			if labels[key] != value {
				t.Errorf("pods have labels %v, and are selected by %v", labels, by)
			}
		}
	}
	for _, o := range objectsOf(t, objects.Config{}) {
		if o.GetKind() == "PodDisruptionBudget" {
			t.Error("a budget of one out of one keeps nodes from being drained")
		}
	}
}

//go:build e2e

package cluster

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"bflow.dev/bflow/runplan/contract"
)

// bare is a cluster that may be filled and emptied, and the flags (BFLOW_E2E_BOOTSTRAP_FLAGS) that say where its images
// come from.
func bare(t *testing.T) (kubeconfig string, flags []string, cfg *rest.Config) {
	t.Helper()
	kubeconfig = os.Getenv("BFLOW_E2E_BARE_KUBECONFIG")
	if kubeconfig == "" {
		t.Skip("BFLOW_E2E_BARE_KUBECONFIG names no cluster without Tekton and Kueue that may be filled and emptied")
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	cfg.QPS, cfg.WarningHandler = -1, rest.NoWarnings{}
	return kubeconfig, strings.Fields(os.Getenv("BFLOW_E2E_BOOTSTRAP_FLAGS")), cfg
}

// bootstrap runs a verb of bflow bootstrap and returns what it printed.
func bootstrap(t *testing.T, want int, args ...string) (out, log string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	began := time.Now()
	cmd := exec.CommandContext(t.Context(), filepath.Join(os.Getenv("BFLOW_E2E_BIN"), "bflow"),
		append([]string{"bootstrap"}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatalf("starting bflow of BFLOW_E2E_BIN: %v", err)
	}
	code := cmd.ProcessState.ExitCode()
	t.Logf("bflow bootstrap %s: exit code %d after %s\n%s",
		strings.Join(args, " "), code, time.Since(began).Round(time.Second), stderr.String())
	if code != want {
		t.Fatalf("exit code %d, want %d\n%s", code, want, stdout.String())
	}
	return stdout.String(), stderr.String()
}

// TestBootstrapComesAndGoes: one command makes a bare cluster ready, another changes nothing, status is clean, and
// uninstalling leaves the cluster as it was. It refuses where nobody releases runs, and the results of a run are
// fetched after an uninstallation that keeps them.
func TestBootstrapComesAndGoes(t *testing.T) {
	kubeconfig, flags, cfg := bare(t)
	at := []string{"--kubeconfig", kubeconfig}
	install := append(append([]string{"--single-cluster"}, at...), flags...)
	before := everything(t, cfg)

	diff, _ := bootstrap(t, 0, append(install, "--dry-run")...)
	if !strings.Contains(diff, "+kind: CustomResourceDefinition") {
		t.Error("a dry run on a bare cluster shows no CRD")
	}
	if left := difference(everything(t, cfg), before); len(left) > 0 {
		t.Fatalf("a dry run made %q", left)
	}

	bootstrap(t, 0, install...)
	settle(t, cfg)
	ready := everything(t, cfg)
	_, log := bootstrap(t, 0, install...)
	if n := strings.Count(log, "objects, unchanged"); n != 3 {
		t.Errorf("a second call left %d of 3 components unchanged", n)
	}
	for name, version := range everything(t, cfg) {
		if was, ok := ready[name]; ours(name) && (!ok || was != version) {
			t.Errorf("a second call changed %s", name)
		}
	}
	if diff, _ := bootstrap(t, 0, append(install, "--dry-run")...); diff != "" {
		t.Errorf("a dry run of what is there shows a difference:\n%s", diff)
	}
	state, _ := bootstrap(t, 0, append([]string{"status"}, at...)...)
	t.Log(state)

	l := &lab{t: t, site: siteOf(t, "bare", kubeconfig, ""), dir: t.TempDir(), runs: t.TempDir()}
	loadAsksForLittle(l)
	run := l.submit(l.write("small.yaml", small))[0]
	l.team().watchToEnd(namespace, run)
	l.of(run).released()
	l.await(2*time.Minute, "the Workload of "+run+" to be let go", func() string {
		for _, w := range l.list(workloads, "") {
			if left := w.GetFinalizers(); ownedBy(&w, run) && len(left) > 0 {
				return fmt.Sprintf("it has finalizers %q", left)
			}
		}
		return ""
	})
	l.controllers().scale(0)
	held := l.submit(l.write("held.yaml", small))[0]
	_, refused := bootstrap(t, contract.ExitFail, append([]string{"uninstall", "--yes"}, at...)...)
	if want := "bflow delete --force --yes " + held + " -n " + namespace; !strings.Contains(refused, want) {
		t.Errorf("without a controller it does not say %q", want)
	}
	l.must("delete", "--force", "--yes", held, "-n", namespace)

	theirs, remove := theirs(t, cfg)
	for _, data := range [][]string{nil, {"--data"}} {
		bootstrap(t, 0, append(append([]string{"uninstall", "--yes"}, data...), at...)...)
		kept := everything(t, cfg)
		for _, name := range theirs {
			if kept[name] == "" {
				t.Errorf("uninstall %q took %s", data, name)
			}
		}
		if data == nil {
			out := filepath.Join(l.dir, "fetched")
			l.must("fetch", run, "-n", namespace, "--out", out)
			if got := read(t, filepath.Join(out, contract.FileReport)); len(got.Stages) == 0 {
				t.Errorf("the report of %s that was fetched has no stages", run)
			}
		}
	}
	remove()
	bootstrap(t, 0, append([]string{"uninstall", "--yes", "--data"}, at...)...)
	settle(t, cfg)
	after := everything(t, cfg)
	if left := difference(after, before); len(left) > 0 {
		t.Errorf("uninstall left %q", left)
	}
	if gone := difference(before, after); len(gone) > 0 {
		t.Errorf("uninstall took %q, which were there before", gone)
	}
}

// loadAsksForLittle lets a load generator be put beside all that bootstrap installs, on a node of two cores.
func loadAsksForLittle(l *lab) {
	l.t.Helper()
	patch := fmt.Appendf(nil, `{"data":{%q:"50m"}}`, contract.HubLoadCPU)
	if _, err := l.api.Resource(configMaps).Namespace(namespace).Patch(l.t.Context(), contract.ConfigMapHub,
		types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

// theirs makes what an uninstallation must leave alone, with namespaces and kinds around it: a Task of somebody else, a
// volume and a Secret beside the runs, and a ConfigMap beside Tekton's controller. It returns their names, and what
// removes them.
func theirs(t *testing.T, cfg *rest.Config) (names []string, remove func()) {
	t.Helper()
	api, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var removals []func()
	create := func(resource schema.GroupVersionResource, namespace string, object map[string]any) {
		object["metadata"] = map[string]any{"name": "theirs"}
		made := api.Resource(resource).Namespace(namespace)
		if _, err := made.Create(t.Context(), &unstructured.Unstructured{Object: object},
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.TrimSuffix(resource.Resource+"."+resource.Group, ".")+" "+namespace+"/theirs")
		removals = append(removals, func() {
			if err := made.Delete(t.Context(), "theirs", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	create(schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: "tasks"}, "default", map[string]any{
		"apiVersion": "tekton.dev/v1", "kind": "Task",
		"spec": map[string]any{"steps": []any{map[string]any{"name": "s", "image": "busybox", "command": []any{"true"}}}}})
	create(schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}, namespace, map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim",
		"spec": map[string]any{
			"accessModes": []any{"ReadWriteOnce"},
			"resources":   map[string]any{"requests": map[string]any{"storage": "1Mi"}},
		}})
	create(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, namespace, map[string]any{
		"apiVersion": "v1", "kind": "Secret",
	})
	create(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "tekton-pipelines", map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
	})
	return names, func() {
		for _, remove := range removals {
			remove()
		}
	}
}

// ours tells whether controllers have no business with an object once it is ready: whatever is not a pod and its kin.
func ours(name string) bool {
	resource, _, _ := strings.Cut(name, " ")
	return resource != "pods" && resource != "nodes" && resource != "horizontalpodautoscalers.autoscaling"
}

// settle waits until the objects of the cluster are the same ones three times in a row: controllers and the garbage
// collector have then done what they had to.
func settle(t *testing.T, cfg *rest.Config) {
	t.Helper()
	last, same := everything(t, cfg), 0
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for end := time.After(10 * time.Minute); same < 3; {
		select {
		case <-end:
			t.Fatal("the objects of the cluster do not come to rest")
		case <-tick.C:
		}
		now := everything(t, cfg)
		if same++; len(difference(now, last))+len(difference(last, now)) > 0 {
			same = 0
		}
		last = now
	}
}

//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/runplan/contract"
)

// goneWithin is how long a namespace of runs that somebody deletes may take to go.
const goneWithin = 3 * time.Minute

// TestADeletedNamespaceGoesAndTakesNoGPUs deletes a team's namespace with a run under load and one that waits: it is
// gone within minutes, its GPUs are free, and the run of another team goes on as if nothing had been.
func TestADeletedNamespaceGoesAndTakesNoGPUs(t *testing.T) {
	l := newLab(t, alone)
	const team = "bflow-e2e-gone"
	l.team().add(team)
	other := l.submit(l.write("other.yaml", experiment(oneOfEight, "2m", "")))[0]
	running := l.submit(l.write("running.yaml", of(team, experiment(fourOfEight, "10m", ""))))[0]
	l.team().loads(team, running)
	l.submit(l.write("queued.yaml", of(team, experiment(allEight, "1s", ""))))
	l.await(5*time.Minute, "both runs of the team to be queued", func() string {
		all, err := l.listIn(workloads, team, "")
		if err != nil || len(all) < 2 {
			return "there are fewer Workloads"
		}
		return ""
	})
	l.team().delete(team)
	l.of(other).succeeded()
	l.of(other).ranOnce()
	l.of(other).nothingLeft(beforeForce)
	l.quota().awaitFree(beforeForce)
}

// TestADeletedNamespaceLeavesNothingOnATarget is the same for a run whose server and load are on the worker.
func TestADeletedNamespaceLeavesNothingOnATarget(t *testing.T) {
	if testing.Short() {
		t.Skip("a namespace is deleted in short tests, with its run on the hub")
	}
	l := newLab(t, withWorker)
	w := l.onWorker()
	const team = "bflow-e2e-far"
	l.team().add(team)
	l.team().addOn(w, team)
	run := l.submit(l.write("far.yaml", of(team, experiment(oneOfEight, "10m", onTheWorker))))[0]
	l.team().loads(team, run)
	l.team().delete(team)
	w.await(time.Minute, "nothing to be left of "+run+" on the worker", func() string {
		var left []string
		for _, kind := range []schema.GroupVersionResource{pods, deployments, jobs, services} {
			found, err := w.listIn(kind, team, contract.LabelRun+"="+run)
			if err != nil {
				return err.Error()
			}
			for _, u := range found {
				left = append(left, kind.Resource+" "+u.GetName())
			}
		}
		return strings.Join(left, ", ")
	})
}

// newTeam is a namespace of runs that a hub has for a while, and that its targets do not serve.
const newTeam = "bflow-e2e-team"

// TestATeamComesAndGoes: bflow bootstrap makes a namespace one of runs, which a run there shows, and takes it away once
// what runs there has ended. What somebody else has put there stays, and the namespace with it.
func TestATeamComesAndGoes(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for two runs; without runs it is tried on an API server in memory")
	}
	l := newLab(t, alone)
	const team = newTeam
	l.must("bootstrap", "namespace", "add", team)
	t.Cleanup(func() {
		if t.Failed() {
			_ = l.api.Resource(namespaces).Delete(context.WithoutCancel(t.Context()), team, metav1.DeleteOptions{})
		}
	})
	l.team().loadCPUFrom(namespace, team)
	l.team().watchToEnd(team, l.submit(l.write("first.yaml", of(team, experiment(oneOfEight, "1s", ""))), "-n", team)[0])
	theirs := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "theirs"}},
	}
	if _, err := l.api.Resource(configMaps).Namespace(team).Create(t.Context(), theirs,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	second := l.submit(l.write("second.yaml", of(team, experiment(oneOfEight, "20s", ""))), "-n", team)[0]
	l.team().loads(team, second)

	refused := l.bflow("bootstrap", "namespace", "remove", team)
	if refused.code == 0 || !strings.Contains(refused.err, "it has active runs: 1, "+second+" first") {
		t.Errorf("with a run under way: exit %d\n%s", refused.code, refused.err)
	}
	drained := l.command(20*time.Minute, bflowPath(), "bootstrap", "namespace", "remove", team, "--wait", "15m", "--data")
	if drained.code != 0 || !strings.Contains(drained.err, `others have objects in it: ConfigMap "theirs"`) {
		t.Fatalf("removing it: exit %d\n%s", drained.code, drained.err)
	}
	there, err := l.api.Resource(namespaces).Get(t.Context(), team, metav1.GetOptions{})
	if err != nil || there.GetLabels()[contract.LabelEnabled] != "" {
		t.Errorf("the namespace: %v, labels %v", err, there.GetLabels())
	}
	for _, kind := range []schema.GroupVersionResource{pipelineRuns, taskRuns, workloads} {
		if left, err := l.listIn(kind, team, ""); err != nil || len(left) > 0 {
			t.Errorf("left of %s: %d, %v", kind.Resource, len(left), err)
		}
	}
	if err := l.api.Resource(configMaps).Namespace(team).Delete(t.Context(), "theirs",
		metav1.DeleteOptions{}); err != nil {
		t.Errorf("what somebody else has made: %v", err)
	}
	l.must("bootstrap", "namespace", "add", team)
	l.must("bootstrap", "namespace", "remove", team)
	if _, err := l.api.Resource(namespaces).Get(t.Context(), team, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("empty, the namespace is there: %v", err)
	}
}

// watchToEnd watches a run as a person does, until it has ended well.
func (ns teams) watchToEnd(namespace, run string) {
	ns.l.t.Helper()
	if r := ns.l.command(40*time.Minute, bflowPath(), "watch", run, "--plain", "-n", namespace); r.code != 0 {
		ns.l.t.Fatalf("%s ended with %d\n%s%s", run, r.code, r.out, r.err)
	}
}

// loadCPUFrom has the load generators of a team ask for as many cores as those of another namespace.
func (ns teams) loadCPUFrom(other, team string) {
	ns.l.t.Helper()
	hub, err := ns.l.getIn(configMaps, other, contract.ConfigMapHub)
	if err != nil {
		ns.l.t.Fatal(err)
	}
	cpu, _, _ := unstructured.NestedString(hub.Object, "data", contract.HubLoadCPU)
	patch := fmt.Appendf(nil, `{"data":{%q:%q}}`, contract.HubLoadCPU, cpu)
	if _, err := ns.l.api.Resource(configMaps).Namespace(team).Patch(ns.l.t.Context(), contract.ConfigMapHub,
		types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		ns.l.t.Fatal(err)
	}
}

// of is an experiment in the namespace of a team.
func of(team, experiment string) string {
	return strings.ReplaceAll(experiment, "namespace: "+namespace, "namespace: "+team)
}

// add makes a namespace of runs beside that of the other tests, as bootstrap does, until the end of the test.
func (ns teams) add(name string) {
	ns.l.t.Helper()
	all, err := objects.Objects(objects.Config{Namespaces: []string{name}})
	if err != nil {
		ns.l.t.Fatal(err)
	}
	ns.create(name, all)
	hub, err := ns.l.api.Resource(configMaps).Namespace(namespace).Get(ns.l.t.Context(), contract.ConfigMapHub,
		metav1.GetOptions{})
	if err != nil {
		ns.l.t.Fatal(err)
	}
	ns.create(name, []*unstructured.Unstructured{{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": contract.ConfigMapHub, "namespace": name}, "data": hub.Object["data"]}}})
}

// addOn makes the same on a worker, and the queue of the worker beside the runs.
func (ns teams) addOn(w *lab, name string) {
	ns.l.t.Helper()
	target := objects.Target{Name: workerTarget, Namespaces: []string{name}, Hub: ns.l.hub()}
	all, err := target.Objects()
	if err != nil {
		ns.l.t.Fatal(err)
	}
	w.team().create(name, all)
	ns.create(name, target.QueueObjects())
}

// create makes those of some objects that are of one team alone: its namespace, what lies in it, and what is bound
// for it elsewhere.
func (ns teams) create(name string, all []*unstructured.Unstructured) {
	ns.l.t.Helper()
	for _, o := range all {
		itself := o.GetKind() == "Namespace" && o.GetName() == name
		if !itself && o.GetNamespace() != name && !strings.HasSuffix(o.GetName(), "-"+name) ||
			slices.Contains([]string{"Task", "Pipeline"}, o.GetKind()) {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		at := ns.l.api.Resource(plural).Namespace(o.GetNamespace())
		if _, err := at.Create(ns.l.t.Context(), o, metav1.CreateOptions{}); err != nil {
			ns.l.t.Fatalf("making %s %s: %v", o.GetKind(), o.GetName(), err)
		}
		if itself || o.GetNamespace() != name {
			ns.l.t.Cleanup(func() {
				err := at.Delete(context.WithoutCancel(ns.l.t.Context()), o.GetName(), metav1.DeleteOptions{})
				if err != nil && !apierrors.IsNotFound(err) {
					ns.l.t.Error(err)
				}
			})
		}
	}
}

// loads waits until the load generator of a run in the namespace of a team has a pod that runs.
func (ns teams) loads(team, run string) {
	ns.l.t.Helper()
	ns.l.await(40*time.Minute, "load-gen-0 of "+run, func() string {
		found, err := ns.l.listIn(pods, team, "tekton.dev/pipelineRun="+run+",tekton.dev/pipelineTask=load-gen-0")
		if err != nil {
			return err.Error()
		}
		for _, p := range found {
			if phase, _, _ := unstructured.NestedString(p.Object, "status", "phase"); phase == "Running" {
				return ""
			}
		}
		if pr, err := ns.l.getIn(pipelineRuns, team, run); err == nil {
			if status, reason := condition(pr); status == "False" {
				ns.l.t.Fatalf("%s ended before: %s\n%s", run, reason, ns.l.bflow("status", run).out)
			}
		}
		return "it has no running pod"
	})
}

// delete does what kubectl does, and waits until the namespace is gone.
func (ns teams) delete(name string) {
	ns.l.t.Helper()
	ns.deleteWithin(goneWithin, name)
}

func (ns teams) deleteWithin(limit time.Duration, name string) {
	ns.l.t.Helper()
	if err := ns.l.api.Resource(namespaces).Delete(ns.l.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		ns.l.t.Fatal(err)
	}
	ns.l.await(limit, "namespace "+name+" to be gone", func() string {
		n, err := ns.l.api.Resource(namespaces).Get(context.WithoutCancel(ns.l.t.Context()), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return ""
		}
		if err != nil {
			return err.Error()
		}
		conditions, _, _ := unstructured.NestedSlice(n.Object, "status", "conditions")
		var said []string
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["status"] == "True" {
				message, _ := c["message"].(string)
				said = append(said, message)
			}
		}
		return strings.Join(said, "; ") + " (it is there)"
	})
}

// faulty skips what takes rights away where the audit log would be judged as if nobody had.
func faulty(t *testing.T) {
	t.Helper()
	if os.Getenv("E2E_FAULT_CMD") == "" {
		t.Skip("E2E_FAULT_CMD is not set: what is refused while a right is away would count as a right that is missing")
	}
}

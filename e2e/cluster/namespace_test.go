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
	l.team(team)
	other := l.submit(l.write("other.yaml", experiment(oneOfEight, "2m", "")))[0]
	running := l.submit(l.write("running.yaml", of(team, experiment(fourOfEight, "10m", ""))))[0]
	l.loads(team, running)
	l.submit(l.write("queued.yaml", of(team, experiment(allEight, "1s", ""))))
	l.await(5*time.Minute, "both runs of the team to be queued", func() string {
		all, err := l.listIn(workloads, team, "")
		if err != nil || len(all) < 2 {
			return "there are fewer Workloads"
		}
		return ""
	})
	l.deleteNamespace(team)
	l.succeeded(other)
	l.ranOnce(other)
	l.nothingLeft(other, beforeForce)
	l.quotaFree(beforeForce)
}

// TestADeletedNamespaceLeavesNothingOnATarget is the same for a run whose server and load are on the worker.
func TestADeletedNamespaceLeavesNothingOnATarget(t *testing.T) {
	if testing.Short() {
		t.Skip("a namespace is deleted in short tests, with its run on the hub")
	}
	l := newLab(t, withWorker)
	w := l.onWorker()
	const team = "bflow-e2e-far"
	l.team(team)
	l.teamOn(w, team)
	run := l.submit(l.write("far.yaml", of(team, experiment(oneOfEight, "10m", onTheWorker))))[0]
	l.loads(team, run)
	l.deleteNamespace(team)
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
	l.loadCPUFrom(namespace, team)
	l.watchToEnd(team, l.submit(l.write("first.yaml", of(team, experiment(oneOfEight, "1s", ""))), "-n", team)[0])
	theirs := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "theirs"}},
	}
	if _, err := l.api.Resource(configMaps).Namespace(team).Create(t.Context(), theirs,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	second := l.submit(l.write("second.yaml", of(team, experiment(oneOfEight, "20s", ""))), "-n", team)[0]
	l.loads(team, second)

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
func (l *lab) watchToEnd(namespace, run string) {
	l.t.Helper()
	if r := l.command(40*time.Minute, bflowPath(), "watch", run, "--plain", "-n", namespace); r.code != 0 {
		l.t.Fatalf("%s ended with %d\n%s%s", run, r.code, r.out, r.err)
	}
}

// loadCPUFrom has the load generators of a team ask for as many cores as those of another namespace.
func (l *lab) loadCPUFrom(other, team string) {
	l.t.Helper()
	hub, err := l.getIn(configMaps, other, contract.ConfigMapHub)
	if err != nil {
		l.t.Fatal(err)
	}
	cpu, _, _ := unstructured.NestedString(hub.Object, "data", contract.HubLoadCPU)
	patch := fmt.Appendf(nil, `{"data":{%q:%q}}`, contract.HubLoadCPU, cpu)
	if _, err := l.api.Resource(configMaps).Namespace(team).Patch(l.t.Context(), contract.ConfigMapHub,
		types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

// of is an experiment in the namespace of a team.
func of(team, experiment string) string {
	return strings.ReplaceAll(experiment, "namespace: "+namespace, "namespace: "+team)
}

// team makes a namespace of runs beside that of the other tests, as bootstrap does, until the end of the test.
func (l *lab) team(name string) {
	l.t.Helper()
	all, err := objects.Objects(objects.Config{Namespaces: []string{name}})
	if err != nil {
		l.t.Fatal(err)
	}
	l.createTeam(name, all)
	hub, err := l.api.Resource(configMaps).Namespace(namespace).Get(l.t.Context(), contract.ConfigMapHub,
		metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	l.createTeam(name, []*unstructured.Unstructured{{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": contract.ConfigMapHub, "namespace": name}, "data": hub.Object["data"]}}})
}

// teamOn makes the same on a worker, and the queue of the worker beside the runs.
func (l *lab) teamOn(w *lab, name string) {
	l.t.Helper()
	target := objects.Target{Name: workerTarget, Namespaces: []string{name}, Hub: l.hub()}
	all, err := target.Objects()
	if err != nil {
		l.t.Fatal(err)
	}
	w.createTeam(name, all)
	l.createTeam(name, target.QueueObjects())
}

// createTeam makes those of some objects that are of one team alone: its namespace, what lies in it, and what is bound
// for it elsewhere.
func (l *lab) createTeam(name string, all []*unstructured.Unstructured) {
	l.t.Helper()
	for _, o := range all {
		itself := o.GetKind() == "Namespace" && o.GetName() == name
		if !itself && o.GetNamespace() != name && !strings.HasSuffix(o.GetName(), "-"+name) ||
			slices.Contains([]string{"Task", "Pipeline"}, o.GetKind()) {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		at := l.api.Resource(plural).Namespace(o.GetNamespace())
		if _, err := at.Create(l.t.Context(), o, metav1.CreateOptions{}); err != nil {
			l.t.Fatalf("making %s %s: %v", o.GetKind(), o.GetName(), err)
		}
		if itself || o.GetNamespace() != name {
			l.t.Cleanup(func() {
				err := at.Delete(context.WithoutCancel(l.t.Context()), o.GetName(), metav1.DeleteOptions{})
				if err != nil && !apierrors.IsNotFound(err) {
					l.t.Error(err)
				}
			})
		}
	}
}

// loads waits until the load generator of a run in the namespace of a team has a pod that runs.
func (l *lab) loads(team, run string) {
	l.t.Helper()
	l.await(40*time.Minute, "load-gen-0 of "+run, func() string {
		found, err := l.listIn(pods, team, "tekton.dev/pipelineRun="+run+",tekton.dev/pipelineTask=load-gen-0")
		if err != nil {
			return err.Error()
		}
		for _, p := range found {
			if phase, _, _ := unstructured.NestedString(p.Object, "status", "phase"); phase == "Running" {
				return ""
			}
		}
		if pr, err := l.getIn(pipelineRuns, team, run); err == nil {
			if status, reason := condition(pr); status == "False" {
				l.t.Fatalf("%s ended before: %s\n%s", run, reason, l.bflow("status", run).out)
			}
		}
		return "it has no running pod"
	})
}

// deleteNamespace does what kubectl does, and waits until the namespace is gone.
func (l *lab) deleteNamespace(name string) {
	l.t.Helper()
	l.deleteNamespaceWithin(goneWithin, name)
}

func (l *lab) deleteNamespaceWithin(limit time.Duration, name string) {
	l.t.Helper()
	if err := l.api.Resource(namespaces).Delete(l.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		l.t.Fatal(err)
	}
	l.await(limit, "namespace "+name+" to be gone", func() string {
		n, err := l.api.Resource(namespaces).Get(context.WithoutCancel(l.t.Context()), name, metav1.GetOptions{})
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

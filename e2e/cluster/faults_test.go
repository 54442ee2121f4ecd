//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/runplan/contract"
)

// Controllers that the tests kill.
var (
	ourController    = deployment{"bflow-system", "app.kubernetes.io/name=bflow-controller"}
	tektonController = deployment{
		"tekton-pipelines", "app.kubernetes.io/name=controller,app.kubernetes.io/part-of=tekton-pipelines",
	}
)

// deployment is where the pods of a controller are.
type deployment struct{ namespace, selector string }

// TestTheControllerIsKilledAtEveryPhase kills bflow-controller while a run waits, starts, at every task, and after its
// end: the run succeeds, once, and is released.
func TestTheControllerIsKilledAtEveryPhase(t *testing.T) {
	l := newLab(t, rough)
	holder := l.submit(l.write("holder.yaml", experiment(allEight, "10m", "")))[0]
	during(contract.Provision)(l, holder)
	run := l.submit(l.write("killed.yaml", experiment(fourOfEight, "8s", "")))[0]
	l.kill(ourController) // while it waits
	l.must("cancel", holder)
	l.await(40*time.Minute, run+" to be let start", func() string {
		if l.run(run).GetAnnotations()[contract.AnnotationAdmitted] == "" {
			return "it is not"
		}
		return ""
	})
	l.kill(ourController) // while it starts
	for _, task := range []string{contract.Provision, contract.Smoketest, "load-gen-0", contract.Release,
		contract.MLflowPush, contract.Finish} {
		l.waitForTask(run, task)
		l.kill(ourController)
	}
	l.succeeded(run)
	l.kill(ourController) // before or while it releases
	for _, run := range []string{holder, run} {
		l.nothingLeft(run, beforeForce)
	}
	l.released(run)
	l.ranOnce(run)
}

// TestTheControllerIsKilledWhileARunIsCancelled: nobody is there to see the end of the run but the next controller.
func TestTheControllerIsKilledWhileARunIsCancelled(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		task string
		act  func(l *lab, run string)
		more bool
	}{
		{name: "cancelled by bflow in load-gen", task: "load-gen-0", act: byBflow("cancel"), more: true},
		{name: "cancelled outright while provisioning", task: contract.Provision, act: byCancelled},
		{name: "deleted in load-gen", task: "load-gen-0", act: byDeletion, more: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.more && testing.Short() {
				t.Skip("a like row is tried in short tests")
			}
			l := newLab(t, rough)
			engine := fourOfEight
			if row.task == contract.Provision {
				engine = slowStart
			}
			run := l.submit(l.write("killed.yaml", experiment(engine, "10m", "")))[0]
			during(row.task)(l, run)
			l.kill(ourController)
			row.act(l, run)
			l.kill(ourController)
			l.waitForEnd(run, 20*time.Minute)
			l.nothingLeft(run, beforeForce)
		})
	}
}

// TestTektonsControllerIsKilled while a run provisions and while it is under load.
func TestTektonsControllerIsKilled(t *testing.T) {
	l := newLab(t, rough)
	run := l.submit(l.write("killed.yaml", experiment(fourOfEight, "20s", "")))[0]
	for _, task := range []string{contract.Provision, "load-gen-0", contract.Finish} {
		l.waitForTask(run, task)
		l.kill(tektonController)
	}
	l.succeeded(run)
	l.nothingLeft(run, beforeForce)
	l.released(run)
}

// TestPartsOfTheClusterFail: a run under load lives through it, or ends; either way nothing is left.
func TestPartsOfTheClusterFail(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		fault []string // for E2E_FAULT_CMD
		more  bool
	}{
		{name: "the API server is killed", fault: []string{"restart", "kube-apiserver"}},
		{name: "the kubelet stands still for 90 s", fault: []string{"stop", "kubelet", "90"}, more: true},
		{name: "the store of the API server is killed", fault: []string{"restart", "etcd"}, more: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.more && testing.Short() {
				t.Skip("a like row is tried in short tests")
			}
			l := newLab(t, alone)
			run := l.submit(l.write("fault.yaml", experiment(fourOfEight, "30s", "")))[0]
			during("load-gen-0")(l, run)
			l.fault(row.fault...)
			l.eventually(run)
			l.nothingLeft(run, beforeForce)
			l.released(run)
		})
	}
}

// fault runs the command of E2E_FAULT_CMD with the words of a fault, which hurts the cluster of the lab.
func (l *lab) fault(words ...string) {
	l.t.Helper()
	program := os.Getenv("E2E_FAULT_CMD")
	if program == "" {
		l.t.Skipf("E2E_FAULT_CMD names no command that could %q; docs/e2e.md has one", words)
	}
	if r := l.command(15*time.Minute, "env",
		append([]string{"FAULT_CLUSTER=" + l.name, program}, words...)...); r.code != 0 {
		l.t.Fatalf("%s %q: exit %d\n%s%s", program, words, r.code, r.out, r.err)
	}
}

// eventually waits until the run is done, whatever the API server answers meanwhile.
func (l *lab) eventually(run string) {
	l.t.Helper()
	l.await(40*time.Minute, run+" to end", func() string {
		pr, err := l.get(pipelineRuns, run)
		if err != nil {
			return err.Error()
		}
		status, reason := condition(pr)
		if status == "True" || status == "False" {
			return ""
		}
		return "it is " + reason
	})
}

// kill ends the pods of a controller without a moment to say goodbye, and waits until another one is ready.
func (l *lab) kill(d deployment) {
	l.t.Helper()
	all := l.api.Resource(pods).Namespace(d.namespace)
	var before []unstructured.Unstructured
	l.await(10*time.Minute, "pods to kill", func() (said string) { // of which another test may have killed some just now
		var err error
		if before, err = l.listIn(pods, d.namespace, d.selector); err != nil || len(before) == 0 {
			said = fmt.Sprintf("no pods %s in %s: %v", d.selector, d.namespace, err)
		}
		return said
	})
	var killed []string
	for _, p := range before {
		killed = append(killed, p.GetName())
		err := all.Delete(l.t.Context(), p.GetName(), metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		if err != nil && !apierrors.IsNotFound(err) {
			l.t.Fatal(err)
		}
	}
	l.await(10*time.Minute, d.selector+" to be back", func() string {
		now, err := l.listIn(pods, d.namespace, d.selector)
		if err != nil {
			return err.Error()
		}
		for _, p := range now {
			if !slices.Contains(killed, p.GetName()) && conditionIs(&p, "Ready", "True") {
				return ""
			}
		}
		return "no pod is ready"
	})
}

// waitForTask waits until a task of the run has begun; it may have ended since.
func (l *lab) waitForTask(run, task string) {
	l.t.Helper()
	l.await(40*time.Minute, task+" of "+run, func() string {
		if len(l.list(taskRuns, "tekton.dev/pipelineRun="+run+",tekton.dev/pipelineTask="+task)) > 0 {
			return ""
		}
		status, reason := condition(l.run(run))
		if status == "False" {
			l.t.Fatalf("%s ended before %s: %s\n%s", run, task, reason, l.bflow("status", run).out)
		}
		return "the run is " + reason
	})
}

// succeeded waits until the run has ended well.
func (l *lab) succeeded(run string) {
	l.t.Helper()
	l.await(40*time.Minute, run+" to succeed", func() string {
		status, reason := condition(l.run(run))
		if status == "False" {
			l.t.Fatalf("%s failed: %s\n%s", run, reason, l.bflow("status", run).out)
		}
		if status != "True" {
			return "it is " + reason
		}
		return ""
	})
}

// released waits until the controller says that nothing of the run is left.
func (l *lab) released(run string) {
	l.t.Helper()
	l.await(beforeForce, run+" to be released", func() string {
		pr := l.run(run)
		if at := pr.GetAnnotations()[contract.AnnotationReleased]; at == "" || len(pr.GetFinalizers()) > 0 {
			return fmt.Sprintf("released at %q, finalizers %q", at, pr.GetFinalizers())
		}
		return ""
	})
}

// ranOnce checks that no task of the run was started twice, and that there is no further attempt.
func (l *lab) ranOnce(run string) {
	l.t.Helper()
	seen := map[string]int{}
	for _, task := range l.ofRun(taskRuns, run) {
		seen[task.GetLabels()["tekton.dev/pipelineTask"]]++
	}
	for task, n := range seen {
		if n > 1 {
			l.t.Errorf("task %s was started %d times", task, n)
		}
	}
	if n := len(l.ofRun(pipelineRuns, run)); n != 1 {
		l.t.Errorf("%d attempts of %s", n, run)
	}
}

// byCancelled does what the console and tkn do.
func byCancelled(l *lab, run string) {
	l.t.Helper()
	patch := []byte(`{"spec":{"status":"Cancelled"}}`)
	if _, err := l.api.Resource(pipelineRuns).Namespace(namespace).Patch(context.WithoutCancel(l.t.Context()), run,
		"application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

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
	l.controllers().kill(ourController) // while it waits
	l.must("cancel", holder)
	l.await(40*time.Minute, run+" to be let start", func() string {
		if l.run(run).GetAnnotations()[contract.AnnotationAdmitted] == "" {
			return "it is not"
		}
		return ""
	})
	l.controllers().kill(ourController) // while it starts
	for _, task := range []string{contract.Provision, contract.Smoketest, "load-gen-0", contract.Release,
		contract.MLflowPush, contract.Finish} {
		l.of(run).waitForTask(task)
		l.controllers().kill(ourController)
	}
	l.of(run).succeeded()
	l.controllers().kill(ourController) // before or while it releases
	for _, run := range []string{holder, run} {
		l.of(run).nothingLeft(beforeForce)
	}
	l.of(run).released()
	l.of(run).ranOnce()
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
			l.controllers().kill(ourController)
			row.act(l, run)
			l.controllers().kill(ourController)
			l.of(run).waitForEnd(20 * time.Minute)
			l.of(run).nothingLeft(beforeForce)
		})
	}
}

// TestTektonsControllerIsKilled while a run provisions and while it is under load.
func TestTektonsControllerIsKilled(t *testing.T) {
	l := newLab(t, rough)
	run := l.submit(l.write("killed.yaml", experiment(fourOfEight, "20s", "")))[0]
	for _, task := range []string{contract.Provision, "load-gen-0", contract.Finish} {
		l.of(run).waitForTask(task)
		l.controllers().kill(tektonController)
	}
	l.of(run).succeeded()
	l.of(run).nothingLeft(beforeForce)
	l.of(run).released()
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
			l.of(run).eventually()
			l.of(run).nothingLeft(beforeForce)
			l.of(run).released()
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
func (lr labRun) eventually() {
	lr.l.t.Helper()
	lr.l.await(40*time.Minute, lr.name+" to end", func() string {
		pr, err := lr.l.get(pipelineRuns, lr.name)
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
func (cs controllers) kill(d deployment) {
	cs.l.t.Helper()
	all := cs.l.api.Resource(pods).Namespace(d.namespace)
	var before []unstructured.Unstructured
	// another test may have killed some of them just now
	cs.l.await(10*time.Minute, "pods to kill", func() (said string) {
		var err error
		if before, err = cs.l.listIn(pods, d.namespace, d.selector); err != nil || len(before) == 0 {
			said = fmt.Sprintf("no pods %s in %s: %v", d.selector, d.namespace, err)
		}
		return said
	})
	var killed []string
	for _, p := range before {
		killed = append(killed, p.GetName())
		err := all.Delete(cs.l.t.Context(), p.GetName(), metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		if err != nil && !apierrors.IsNotFound(err) {
			cs.l.t.Fatal(err)
		}
	}
	cs.l.await(10*time.Minute, d.selector+" to be back", func() string {
		now, err := cs.l.listIn(pods, d.namespace, d.selector)
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
func (lr labRun) waitForTask(task string) {
	lr.l.t.Helper()
	lr.l.await(40*time.Minute, task+" of "+lr.name, func() string {
		if len(lr.l.list(taskRuns, "tekton.dev/pipelineRun="+lr.name+",tekton.dev/pipelineTask="+task)) > 0 {
			return ""
		}
		status, reason := condition(lr.l.run(lr.name))
		if status == "False" {
			lr.l.t.Fatalf("%s ended before %s: %s\n%s", lr.name, task, reason, lr.l.bflow("status", lr.name).out)
		}
		return "the run is " + reason
	})
}

// succeeded waits until the run has ended well.
func (lr labRun) succeeded() {
	lr.l.t.Helper()
	lr.l.await(40*time.Minute, lr.name+" to succeed", func() string {
		status, reason := condition(lr.l.run(lr.name))
		if status == "False" {
			lr.l.t.Fatalf("%s failed: %s\n%s", lr.name, reason, lr.l.bflow("status", lr.name).out)
		}
		if status != "True" {
			return "it is " + reason
		}
		return ""
	})
}

// released waits until the controller says that nothing of the run is left.
func (lr labRun) released() {
	lr.l.t.Helper()
	lr.l.await(beforeForce, lr.name+" to be released", func() string {
		pr := lr.l.run(lr.name)
		if at := pr.GetAnnotations()[contract.AnnotationReleased]; at == "" || len(pr.GetFinalizers()) > 0 {
			return fmt.Sprintf("released at %q, finalizers %q", at, pr.GetFinalizers())
		}
		return ""
	})
}

// ranOnce checks that no task of the run was started twice, and that there is no further attempt.
func (lr labRun) ranOnce() {
	lr.l.t.Helper()
	seen := map[string]int{}
	for _, task := range lr.objects(taskRuns) {
		seen[task.GetLabels()["tekton.dev/pipelineTask"]]++
	}
	for task, n := range seen {
		if n > 1 {
			lr.l.t.Errorf("task %s was started %d times", task, n)
		}
	}
	if n := len(lr.objects(pipelineRuns)); n != 1 {
		lr.l.t.Errorf("%d attempts of %s", n, lr.name)
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

//go:build e2e

package cluster

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/runplan/contract"
)

// experiment is one run whose engine and load are as given.
func experiment(engine, load, more string) string {
	return `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: leave}
spec:
  namespace: benchflow
  model: {name: demo/tiny}
  deployment_profile: sim
  stages: {collect: false}
  ` + engine + `
  load: {data: {input: 16, output: 4}, stages: [{rate: 20, duration: ` + load + `}]}
` + more
}

// Engines of the rows.
const (
	oneOfEight  = `overrides: {runtime: {resources: {limits: {nvidia.com/gpu: "1"}}}}`
	fourOfEight = `overrides: {runtime: {resources: {limits: {nvidia.com/gpu: "4"}}}}`
	allEight    = `overrides: {runtime: {resources: {limits: {nvidia.com/gpu: "8"}}}}`
	slowStart   = oneOfEight + "\n  engine: {kind: sim, sim: {startup: 10m}}"
	crashes     = oneOfEight + "\n  engine: {kind: sim, args: [--no-such-flag]}"
	noImage     = oneOfEight + "\n  engine: {kind: sim, image: nowhere.invalid/sim-engine:none}"
	noNode      = `overrides: {runtime: {resources: {limits: {nvidia.com/gpu: "1"}}, node_selector: {no: such-node}}}`
	shortTime   = oneOfEight + "\n  execution: {timeout: 45s}"
)

// TestNothingIsLeft ends runs in every way that there is, and looks at what is left afterwards.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		engine  string
		load    string
		at      func(l *lab, run string) // waits until the moment
		act     func(l *lab, run string)
		reason  string // part of what bflow status says afterwards
		deleted bool   // the PipelineRun is gone in the end
		more    bool   // another row of its class is tried in short tests
	}{
		{name: "cancelled by bflow while provisioning", engine: slowStart, load: "1s", at: during(contract.Provision),
			act: byBflow("cancel"), reason: "ancel"},
		{name: "cancelled by bflow in load-gen", engine: oneOfEight, load: "10m", at: during("load-gen-0"),
			act: byBflow("cancel"), reason: "ancel", more: true},
		{name: "cancelled by bflow with its finally in mlflow-push", engine: oneOfEight, load: "1s",
			at: during(contract.MLflowPush), act: byBflow("cancel"), more: true},
		{name: "cancelled by tkn in load-gen", engine: oneOfEight, load: "10m", at: during("load-gen-0"),
			act: byTkn, reason: "ancel"},
		{name: "out of time in load-gen", engine: shortTime, load: "10m", reason: "TimedOut"},
		{name: "an engine that crashes", engine: crashes, load: "1s", reason: "CrashLoopBackOff"},
		{name: "an image that cannot be pulled", engine: noImage, load: "1s", reason: "ImagePull", more: true},
		{name: "no node that could hold it", engine: noNode, load: "1s", reason: "nschedulable"},
		{name: "deleted in load-gen", engine: oneOfEight, load: "10m", at: during("load-gen-0"),
			act: byDeletion, deleted: true},
		{name: "deleted while provisioning", engine: slowStart, load: "1s", at: during(contract.Provision),
			act: byDeletion, deleted: true, more: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.more && testing.Short() {
				t.Skip("a like row is tried in short tests")
			}
			l := newLab(t)
			run := l.submit(l.write("leave.yaml", experiment(row.engine, row.load, "")))[0]
			if row.at != nil {
				row.at(l, run)
			}
			if row.act != nil {
				row.act(l, run)
			}
			l.of(run).waitForEnd(20 * time.Minute)
			l.of(run).nothingLeft(beforeForce)
			if row.deleted {
				l.of(run).gone()
			} else if said := l.bflow("status", run).out; !strings.Contains(said, row.reason) {
				t.Errorf("bflow status does not say %q:\n%s", row.reason, said)
			}
		})
	}
}

// TestAQueuedRunThatIsCancelledNeverStarts cancels one that waits for the GPUs of another.
func TestAQueuedRunThatIsCancelledNeverStarts(t *testing.T) {
	l := newLab(t, alone)
	holder := l.submit(l.write("holder.yaml", experiment(allEight, "10m", "")))[0]
	during("provision")(l, holder)
	waiting := l.submit(l.write("waiting.yaml", experiment(fourOfEight, "1s", "")))[0]
	l.awaitAnswer(10*time.Minute, "a reason to wait", func() string {
		if out := l.bflow("status", waiting).out; !strings.Contains(out, "Next in queue") {
			return out
		}
		return ""
	})
	l.must("cancel", waiting)
	l.of(waiting).waitForEnd(10 * time.Minute)
	if n := len(l.list(taskRuns, "tekton.dev/pipelineRun="+waiting)); n > 0 {
		t.Errorf("%d tasks of a run that was cancelled in the queue were started", n)
	}
	l.must("cancel", holder)
	l.of(holder).waitForEnd(20 * time.Minute)
	for _, run := range []string{waiting, holder} {
		l.of(run).nothingLeft(beforeForce)
	}
}

// TestRunsAreDeletedWithoutAController: a run under load, and a matrix with runs that are let start and one that waits.
// Nothing of them is left on the cluster before a controller is there again, and their GPUs are free for others
// afterwards.
func TestRunsAreDeletedWithoutAController(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes down a run and a matrix; the same is tried on an API server in memory")
	}
	l := newLab(t, alone)
	run := l.submit(l.write("orphan.yaml", experiment(oneOfEight, "10m", "")))[0]
	during("load-gen-0")(l, run)
	parent := l.submit(l.write("three.yaml", threePoints))[0]
	var children []string
	l.await(10*time.Minute, "runs of "+parent+", one of them let start", func() string {
		children = nil
		started := false
		for _, c := range l.list(pipelineRuns, contract.LabelMatrix+"="+parent+","+contract.LabelPlanHash) {
			children = append(children, c.GetName())
			started = started || c.GetAnnotations()[contract.AnnotationAdmitted] != ""
		}
		if len(children) < 2 || !started {
			return fmt.Sprintf("there are %d, let start %v", len(children), started)
		}
		return ""
	})
	l.controllers().scale(0)
	t.Cleanup(l.controllers().keepOne)
	l.await(2*time.Minute, "no controller to be left", func() string {
		left, err := l.listIn(pods, ourController.namespace, ourController.selector)
		if err != nil || len(left) > 0 {
			return fmt.Sprintf("%d are there: %v", len(left), err)
		}
		return ""
	})
	for _, name := range []string{run, parent} {
		r := l.bflow("delete", "--force", "--yes", name, "-n", namespace)
		if r.code != 0 || strings.Contains(r.err, "could not verify") {
			t.Fatalf("deleting %s: exit %d\n%s", name, r.code, r.err)
		}
		l.of(name).gone()
	}
	for _, name := range append(children, run) {
		l.of(name).gone()
		l.await(2*time.Minute, "nothing to be left of "+name, func() string {
			return strings.Join(l.of(name).leftOnTheCluster(), ", ")
		})
	}
	l.controllers().keepOne()
	l.quota().awaitFree(beforeForce)
}

// during waits until a task of the run has a pod that runs.
func during(task string) func(l *lab, run string) {
	return func(l *lab, run string) {
		l.t.Helper()
		l.await(40*time.Minute, task+" of "+run, func() string {
			for _, p := range l.list(pods, "tekton.dev/pipelineRun="+run+",tekton.dev/pipelineTask="+task) {
				if phase, _, _ := unstructured.NestedString(p.Object, "status", "phase"); phase == "Running" {
					return ""
				}
			}
			if status, reason := condition(l.run(run)); status == "False" {
				l.t.Fatalf("%s ended before: %s\n%s", run, reason, l.bflow("status", run).out)
			}
			return "it has no running pod"
		})
	}
}

func byBflow(verb string) func(l *lab, run string) {
	return func(l *lab, run string) { l.t.Helper(); l.must(verb, run) }
}

func byTkn(l *lab, run string) {
	l.t.Helper()
	if r := l.command(time.Minute, os.Getenv("BFLOW_E2E_TKN"), "pipelinerun", "cancel", run, "-n",
		namespace); r.code != 0 {
		l.t.Fatalf("tkn: exit %d\n%s%s", r.code, r.out, r.err)
	}
}

func byDeletion(l *lab, run string) {
	l.t.Helper()
	uid := l.run(run).GetUID()
	if err := l.api.Resource(pipelineRuns).Namespace(namespace).Delete(l.t.Context(), run,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
		l.t.Fatal(err)
	}
}

// waitForEnd waits until the PipelineRun is done, or gone.
func (lr labRun) waitForEnd(limit time.Duration) {
	lr.l.t.Helper()
	lr.l.await(limit, lr.name+" to end", func() string {
		pr, err := lr.l.get(pipelineRuns, lr.name)
		if apierrors.IsNotFound(err) {
			return ""
		}
		if err != nil {
			return err.Error()
		}
		if status, reason := condition(pr); status == "Unknown" || status == "" {
			return "it is " + reason
		}
		return ""
	})
}

func (lr labRun) gone() {
	lr.l.t.Helper()
	lr.l.await(10*time.Minute, lr.name+" to be gone", func() string {
		if _, err := lr.l.get(pipelineRuns, lr.name); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("it is there: %v", err)
		}
		return ""
	})
}

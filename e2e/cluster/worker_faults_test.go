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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"bflow.dev/bflow/queue/retry"
	queuerun "bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"
)

var serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}

// onTheWorker makes an experiment run on the worker.
const onTheWorker = "  target_clusters: [worker]\n"

// TestFaultsWhileARunIsOnAWorker: whatever fails, the run ends, nothing of it is left on either cluster, and the quota
// is right afterwards. A run that says it went well has all its results.
func TestFaultsWhileARunIsOnAWorker(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		at    string // task during which it happens
		needs []need // withWorker where there are none
		fault func(l, w *lab, run string)
		well  bool // the run must go well all the same
		more  bool
	}{
		{name: "the controller is killed", at: "load-gen-0", needs: []need{rough, withWorker}, well: true,
			fault: func(l, _ *lab, _ string) { l.controllers().kill(ourController) }},
		{name: "the API server of the hub is killed", at: "load-gen-0", needs: []need{alone, withWorker}, more: true,
			fault: func(l, _ *lab, _ string) { l.fault("restart", "kube-apiserver") }},
		{name: "the API server of the worker is killed", at: "load-gen-0", needs: []need{aloneOnWorker}, well: true,
			fault: func(_, w *lab, _ string) { w.fault("restart", "kube-apiserver") }},
		{name: "the worker is off the network for a minute", at: "load-gen-0", needs: []need{aloneOnWorker}, well: true,
			fault: func(_, w *lab, _ string) { w.fault("cut", "60") }},
		{name: "the worker is off the network for ten minutes", at: "load-gen-0", needs: []need{aloneOnWorker},
			well: true, more: true, fault: func(_, w *lab, _ string) { w.fault("cut", "600") }},
		{name: "the pod of the load's task is deleted", at: "load-gen-0", more: true, fault: func(l, _ *lab, run string) {
			l.remove(pods, "tekton.dev/pipelineRun="+run+",tekton.dev/pipelineTask=load-gen-0")
		}},
		{name: "the pod of the load's Job is deleted", at: "load-gen-0", well: true, fault: func(_, w *lab, run string) {
			loading := contract.LabelRun + "=" + run + "," + contract.LabelRole + "=load"
			w.await(10*time.Minute, "the load of "+run, func() string {
				for _, p := range w.list(pods, loading) {
					if phase, _, _ := unstructured.NestedString(p.Object, "status", "phase"); phase == "Running" {
						return ""
					}
				}
				return "no pod of it runs"
			})
			w.remove(pods, loading)
		}},
		{name: "the pod that serves the results is deleted while they are fetched", at: "load-gen-0", well: true,
			more: true, fault: func(_, w *lab, run string) {
				w.of(run).serving()
				w.remove(pods, contract.LabelRun+"="+run+","+contract.LabelRole+"=load")
			}},
		{name: "the account of the engines is deleted and made again", at: "load-gen-0", needs: []need{aloneOnWorker},
			more: true, fault: func(l, w *lab, _ string) { l.targets().remakeAccount(w) }},
		{name: "the Secret of the target is deleted", at: "load-gen-0", needs: []need{aloneOnWorker}, more: true,
			well: true, fault: func(l, _ *lab, _ string) { l.targets().lose() }},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.more && testing.Short() {
				t.Skip("a like row is tried in short tests")
			}
			l := newLab(t, append([]need{withWorker}, row.needs...)...)
			w := l.onWorker()
			run := l.submit(l.write("fault.yaml", experiment(fourOfEight, "30s", onTheWorker)))[0]
			during(row.at)(l, run)
			row.fault(l, w, run)
			l.of(run).eventually()
			l.targets().add()
			last := l.of(run).lastAttempt()
			status, reason := condition(l.run(last))
			if status != "True" && row.well {
				t.Errorf("%s did not go well: %s\n%s", last, reason, l.bflow("status", run).out)
			}
			t.Logf("%s ended %s", last, reason)
			l.of(run).nothingLeft(beforeForce)
			w.of(run).nothingLeftThere(15 * time.Minute)
			l.of(last).released()
			if status == "True" {
				l.of(run).hasResults()
			}
		})
	}
}

// lastAttempt waits until no attempt of a run follows any more, and returns the PipelineRun of the last one.
func (lr labRun) lastAttempt() string {
	lr.l.t.Helper()
	lr.eventually()
	lr.released()
	pr := lr.l.run(lr.name)
	if !queuerun.Again(pr) {
		return lr.name
	}
	lr.l.await(10*time.Minute, "the next attempt of "+lr.name, func() string {
		if lr.l.run(lr.name).GetAnnotations()[queuerun.AnnotationNext] == "" {
			return "there is none"
		}
		return ""
	})
	next := lr.l.run(lr.name).GetAnnotations()[queuerun.AnnotationNext]
	if next == retry.None {
		return lr.name
	}
	return lr.l.of(next).lastAttempt()
}

// serving waits until the load of a run is over and its results are waited for.
func (lr labRun) serving() {
	lr.l.t.Helper()
	loading := contract.LabelRun + "=" + lr.name + "," + contract.LabelRole + "=load"
	seen, err := lr.l.api.Resource(pods).Namespace(namespace).Watch(lr.l.t.Context(),
		metav1.ListOptions{LabelSelector: loading})
	if err != nil {
		lr.l.t.Fatal(err)
	}
	defer seen.Stop()
	late := time.After(5 * time.Minute)
	for {
		select {
		case e := <-seen.ResultChan():
			if u, ok := e.Object.(*unstructured.Unstructured); ok && hasEnded(u, contract.LoadGen) {
				return
			}
		case <-late:
			lr.l.t.Fatalf("the load of %s did not end", lr.name)
		}
	}
}

func hasEnded(pod *unstructured.Unstructured, container string) bool {
	list, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["name"] == container {
			_, found, _ := unstructured.NestedMap(c, "state", "terminated")
			return found
		}
	}
	return false
}

// remove deletes objects of a kind, of which there must be some, without a moment to say goodbye.
func (l *lab) remove(kind schema.GroupVersionResource, selector string) {
	l.t.Helper()
	found := l.list(kind, selector)
	if len(found) == 0 {
		l.t.Fatalf("no %s %s to delete", kind.Resource, selector)
	}
	for _, u := range found {
		err := l.api.Resource(kind).Namespace(namespace).Delete(l.t.Context(), u.GetName(), metav1.DeleteOptions{
			GracePeriodSeconds: new(int64(0)),
		})
		if err != nil {
			l.t.Fatal(err)
		}
	}
}

// remakeAccount deletes bflow-runner of the worker and adds the target again: every token of the account is void.
func (ts targets) remakeAccount(w *lab) {
	ts.l.t.Helper()
	if err := w.api.Resource(serviceAccounts).Namespace(namespace).Delete(ts.l.t.Context(), contract.AccountRunner,
		metav1.DeleteOptions{}); err != nil {
		ts.l.t.Fatal(err)
	}
	ts.add()
}

// add adds the worker as a target, or brings it up to date. Two at once would be in each other's way.
func (ts targets) add(more ...string) {
	ts.l.t.Helper()
	ts.l.adding.Lock()
	defer ts.l.adding.Unlock()
	ts.l.must(append(
		[]string{"target", "add", workerTarget, "--kubeconfig", os.Getenv("BFLOW_E2E_WORKER_KUBECONFIG")}, more...)...)
}

// lose deletes what the hub knows of the way to the worker.
func (ts targets) lose() {
	ts.l.t.Helper()
	secret := "bflow-target-" + workerTarget
	ctx := context.WithoutCancel(ts.l.t.Context())
	of := ts.l.api.Resource(secrets).Namespace(contract.NamespaceSystem)
	if err := of.Delete(ctx, secret, metav1.DeleteOptions{}); err != nil {
		ts.l.t.Fatal(err)
	}
}

// hasResults checks that the report of a run is whole: every request that its load-gen counted has its row.
func (lr labRun) hasResults() {
	lr.l.t.Helper()
	if r := lr.l.bflow("report", lr.name, "-o", "json"); r.code != 0 {
		lr.l.t.Errorf("bflow report %s: exit %d\n%s", lr.name, r.code, r.err)
	}
	files := lr.files()
	for _, want := range []string{contract.FileReport, contract.FileVerdict, "measurements/0/" + contract.FileRequests,
		"measurements/0/" + contract.FileLoadGen} {
		found := false
		for _, name := range files {
			found = found || name == want
		}
		if !found {
			lr.l.t.Errorf("%s is not among the results of %s: %v", want, lr.name, files)
		}
	}
}

// TestAMatrixIsCancelled: of 200 points 8 run when the parent is cancelled. No child starts afterwards, nothing is
// left, and the GPUs are free soon after the teardown of each has begun.
func TestAMatrixIsCancelled(t *testing.T) {
	if testing.Short() {
		t.Skip("200 points take a while")
	}
	l := newLab(t, alone, aloneOnWorker)
	w := l.onWorker()
	from := l.auditLog().mark()
	parent := l.submit(l.write("many.yaml", twoHundred))[0]
	children := func() []unstructured.Unstructured { return l.list(pipelineRuns, "bflow.dev/matrix="+parent) }
	l.await(40*time.Minute, "8 points to run", func() string {
		n := 0
		for _, c := range children() {
			status, _, _ := unstructured.NestedString(c.Object, "spec", "status")
			if done, _ := condition(&c); status == "" && done == "Unknown" {
				n++
			}
		}
		if n < 8 {
			return "fewer do"
		}
		return ""
	})
	cancelled := time.Now()
	l.must("cancel", parent)
	l.of(parent).waitForEnd(20 * time.Minute)
	l.auditLog().nothingStarted(from, parent)
	for _, c := range children() {
		admitted, _ := time.Parse(time.RFC3339, c.GetAnnotations()[contract.AnnotationAdmitted])
		if admitted.After(cancelled.Add(time.Second)) { // the stamp has whole seconds
			t.Errorf("%s was let start at %s, %s after the cancel", c.GetName(), admitted, admitted.Sub(cancelled))
		}
		l.of(c.GetName()).nothingLeft(beforeForce)
		w.of(c.GetName()).nothingLeftThere(beforeForce)
	}
	var took []time.Duration
	for _, c := range children() {
		if d, ok := l.quota().freedAfter(&c); ok {
			took = append(took, d)
		}
	}
	slices.Sort(took)
	if len(took) < 8 || took[len(took)/2] > 30*time.Second {
		t.Fatalf("from the beginning of teardown until the GPUs were free: %v; want 8 of them or more, half within 30s", took)
	}
	t.Logf("from the beginning of teardown until the GPUs were free: median %s of %v", took[len(took)/2], took)
}

// nothingStarted asks the audit log of the hub: after the request that cancelled a matrix no run of it was made but one
// that was on its way, nor the first task of one that had not been let start before: Tekton takes seconds from there to
// its first task. What was on its way there has a moment.
func (al auditLog) nothingStarted(from time.Time, parent string) {
	al.l.t.Helper()
	const moment = 2 * time.Second
	var cancelled time.Time
	var made []string
	before := func(task string) bool {
		admitted, err := time.Parse(time.RFC3339,
			al.l.run(strings.TrimSuffix(task, "-"+contract.Provision)).GetAnnotations()[contract.AnnotationAdmitted])
		return err == nil && !admitted.After(cancelled)
	}
	for _, a := range al.since(from) {
		late := a.made() && strings.HasPrefix(a.ObjectRef.Name, parent+"-") && !cancelled.IsZero() &&
			a.RequestReceivedTimestamp.After(cancelled)
		switch {
		case a.Verb == "patch" && a.ObjectRef.Resource == "pipelineruns" && a.ObjectRef.Name == parent &&
			a.ObjectRef.Subresource == "" && !strings.HasPrefix(a.User.Username, "system:"):
			cancelled = a.StageTimestamp
		case late && a.ObjectRef.Resource == "pipelineruns":
			made = append(made, fmt.Sprintf("%s %s after it", a.ObjectRef.Name, a.RequestReceivedTimestamp.Sub(cancelled)))
		case late && a.ObjectRef.Resource == "taskruns" && strings.HasSuffix(a.ObjectRef.Name, "-"+contract.Provision) &&
			a.RequestReceivedTimestamp.After(cancelled.Add(moment)) && !before(a.ObjectRef.Name):
			al.l.t.Errorf("%s %s was made %s after the cancel",
				a.ObjectRef.Resource, a.ObjectRef.Name, a.RequestReceivedTimestamp.Sub(cancelled))
		}
	}
	if len(made) > 1 {
		al.l.t.Errorf("%d runs were made after the cancel: %s", len(made), strings.Join(made, ", "))
	}
	if cancelled.IsZero() {
		al.l.t.Errorf("the audit log knows of no cancel of %s", parent)
	}
}

// freedAfter is how long after the beginning of its task finish a run had given its GPUs back; false where it never
// started that task.
func (q quota) freedAfter(run *unstructured.Unstructured) (time.Duration, bool) {
	q.l.t.Helper()
	freed, err := time.Parse(time.RFC3339, run.GetAnnotations()[contract.AnnotationFreed])
	for _, task := range q.l.list(taskRuns,
		"tekton.dev/pipelineRun="+run.GetName()+",tekton.dev/pipelineTask="+contract.Finish) {
		began, _, _ := unstructured.NestedString(task.Object, "status", "startTime")
		if at, bad := time.Parse(time.RFC3339, began); bad == nil && err == nil {
			return max(0, freed.Sub(at)), true
		}
	}
	return 0, false
}

const twoHundred = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: many}
spec:
  namespace: benchflow
  model: {name: demo/tiny}
  deployment_profile: sim
  stages: {collect: false}
  target_clusters: [local, worker]
  overrides: {runtime: {resources: {limits: {nvidia.com/gpu: "2"}}}}
  matrix: {repeat: 100}
  load: {data: {input: 8, output: 4}, stages: [{rate: 5, duration: 2m}]}
`

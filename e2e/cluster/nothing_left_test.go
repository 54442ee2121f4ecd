//go:build e2e

package cluster

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"bflow.dev/bflow/runplan/contract"
)

// beforeForce is the widest limit for what a run must give back: two minutes later the controller would do so by force,
// and the janitor would remove what is left.
const beforeForce = 8 * time.Minute

// nothingLeft waits until a run has left no pod that runs, no Service, Deployment, Job or Secret, no Workload that
// holds quota, and no run of MLflow that is not ended. What is kept on purpose is its PipelineRun, its TaskRuns with
// their ended pods, its plan and its volume.
func (lr labRun) nothingLeft(limit time.Duration) {
	lr.l.t.Helper()
	lr.l.await(limit, "nothing to be left of "+lr.name, func() string {
		left := lr.leftOnTheCluster()
		if len(left) == 0 && !lr.l.watched {
			left = lr.trackedOpen()
		}
		return strings.Join(left, ", ")
	})
}

// leftOnTheCluster names what nothingLeft waits for beside MLflow.
func (lr labRun) leftOnTheCluster() (left []string) {
	lr.l.t.Helper()
	for kind, list := range map[string][]unstructured.Unstructured{
		"Service": lr.objects(services), "Deployment": lr.objects(deployments), "Job": lr.objects(jobs),
		"Secret": lr.objects(secrets),
		"Pod":    lr.livePods(), "Workload": lr.holding(),
	} {
		for _, u := range list {
			left = append(left, kind+" "+u.GetName())
		}
	}
	return left
}

// objects returns what carries the label of the run.
func (lr labRun) objects(kind schema.GroupVersionResource) []unstructured.Unstructured {
	return lr.l.list(kind, contract.LabelRun+"="+lr.name)
}

func (lr labRun) livePods() (live []unstructured.Unstructured) {
	for _, u := range lr.objects(pods) {
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		if phase != "Succeeded" && phase != "Failed" {
			live = append(live, u)
		}
	}
	return live
}

// holding returns the Workloads of a run that hold quota.
func (lr labRun) holding() (held []unstructured.Unstructured) {
	for _, w := range lr.l.list(workloads, "") {
		if !ownedBy(&w, lr.name) || conditionIs(&w, "Finished", "True") {
			continue
		}
		if conditionIs(&w, "QuotaReserved", "True") {
			held = append(held, w)
		}
	}
	return held
}

func ownedBy(u *unstructured.Unstructured, run string) bool {
	for _, o := range u.GetOwnerReferences() {
		if o.Name == run || strings.HasPrefix(o.Name, run+"-a") {
			return true
		}
	}
	return false
}

func conditionIs(u *unstructured.Unstructured, kind, want string) bool {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == kind {
			return c["status"] == want
		}
	}
	return false
}

// awaitFree waits until nothing of a resource of queue local is reserved.
func (q quota) awaitFree(limit time.Duration) {
	q.l.t.Helper()
	q.l.await(limit, "the quota to be free", func() string {
		cq, err := q.l.getIn(clusterQueue, "", contract.TargetLocal)
		if err != nil {
			return err.Error()
		}
		n, _, _ := unstructured.NestedInt64(cq.Object, "status", "reservingWorkloads")
		if n > 0 {
			return fmt.Sprintf("%d workloads hold some", n)
		}
		return ""
	})
}

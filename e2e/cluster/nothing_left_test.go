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
func (l *lab) nothingLeft(run string, limit time.Duration) {
	l.t.Helper()
	l.await(limit, "nothing to be left of "+run, func() string {
		left := l.leftOnTheCluster(run)
		if len(left) == 0 && !l.watched {
			left = l.trackedOpen(run)
		}
		return strings.Join(left, ", ")
	})
}

// leftOnTheCluster names what nothingLeft waits for beside MLflow.
func (l *lab) leftOnTheCluster(run string) (left []string) {
	l.t.Helper()
	for kind, list := range map[string][]unstructured.Unstructured{
		"Service": l.ofRun(services, run), "Deployment": l.ofRun(deployments, run), "Job": l.ofRun(jobs, run),
		"Secret": l.ofRun(secrets, run),
		"Pod":    l.livePods(run), "Workload": l.holding(run),
	} {
		for _, u := range list {
			left = append(left, kind+" "+u.GetName())
		}
	}
	return left
}

// ofRun returns what carries the label of the run.
func (l *lab) ofRun(kind schema.GroupVersionResource, run string) []unstructured.Unstructured {
	return l.list(kind, contract.LabelRun+"="+run)
}

func (l *lab) livePods(run string) (live []unstructured.Unstructured) {
	for _, u := range l.ofRun(pods, run) {
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		if phase != "Succeeded" && phase != "Failed" {
			live = append(live, u)
		}
	}
	return live
}

// holding returns the Workloads of a run that hold quota.
func (l *lab) holding(run string) (held []unstructured.Unstructured) {
	for _, w := range l.list(workloads, "") {
		if !ownedBy(&w, run) || conditionIs(&w, "Finished", "True") {
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

// quotaFree waits until nothing of a resource of queue local is reserved.
func (l *lab) quotaFree(limit time.Duration) {
	l.t.Helper()
	l.await(limit, "the quota to be free", func() string {
		cq, err := l.getIn(clusterQueue, "", contract.TargetLocal)
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

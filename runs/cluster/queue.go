package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/pipelines/local"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// placeIn is the place that the controller's sentence tells, 0 where it tells none.
func placeIn(reason string) int {
	if strings.HasPrefix(reason, "Next in queue") {
		return 1
	}
	n := 0
	_, _ = fmt.Sscanf(reason, "Place %d in", &n)
	return n
}

// workload is as much of Kueue's Workload as tells why a run waits.
type workload struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Conditions      []metav1.Condition `json:"conditions"`
		AdmissionChecks []struct {
			Name, State, Message string
		} `json:"admissionChecks"`
	} `json:"status"`
}

// jobLabel is what Kueue's job framework puts on the Workload of a job.
const jobLabel = "kueue.x-k8s.io/job-uid"

// whyWaiting completes the queue of a waiting run from Kueue itself where the controller has not said why.
func (d details) whyWaiting(ctx context.Context, pr *tektonv1.PipelineRun) {
	q := d.Queue
	if q == nil || q.ByController || d.State != local.Pending {
		return
	}
	loads, err := kube.List[workload](ctx, d.api, kube.Kueue("workloads", pr.Namespace, ""),
		kube.Labels(jobLabel+"="+string(pr.UID)))
	switch {
	case err != nil:
	case len(loads) == 0:
		q.Reason = "not picked up yet; if this persists, check with bflow doctor that bflow-controller runs"
	default:
		q.Reason = loads[0].reason()
		q.Position = d.position(ctx, pr.Namespace, loads[0].Name)
	}
	d.Message = q.Sentence()
}

// reason is what Kueue says of a Workload that has not been let start.
func (w *workload) reason() string {
	for _, check := range w.Status.AdmissionChecks {
		if check.State != "Ready" && check.Message != "" {
			return check.Message
		}
	}
	for _, kind := range []string{"QuotaReserved", "Evicted"} {
		for _, cond := range w.Status.Conditions {
			if cond.Type == kind && cond.Message != "" && (kind == "Evicted") == (cond.Status == metav1.ConditionTrue) {
				return cond.Message
			}
		}
	}
	return ""
}

// position asks Kueue for the place of a Workload in its local queue, from 1; 0 where Kueue does not say.
func (d details) position(ctx context.Context, namespace, name string) int {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	at := kube.In("visibility.kueue.x-k8s.io", "v1beta2", "localqueues")
	at.Namespace, at.Name, at.Sub = namespace, d.Queue.Name, "pendingworkloads"
	body, err := d.api.Stream(ctx, at, url.Values{"limit": {"10000"}})
	if err != nil {
		return 0
	}
	defer body.Close()
	var pending struct {
		Items []struct {
			metav1.ObjectMeta      `json:"metadata"`
			PositionInClusterQueue int `json:"positionInClusterQueue"`
		} `json:"items"`
	}
	if json.NewDecoder(body).Decode(&pending) != nil {
		return 0
	}
	for _, item := range pending.Items {
		if item.Name == name {
			return item.PositionInClusterQueue + 1
		}
	}
	return 0
}

package placement

import (
	"slices"
	"strings"
	"time"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
)

// UnschedulableLimit is how long a pod of a task may look for a place. An autoscaler needs minutes for a node, and
// tasks of other runs end; whoever waits for longer waits for a person.
const UnschedulableLimit = 5 * time.Minute

// Words of Tekton for tasks that wait for something.
const (
	reasonNodes = "ExceededNodeResources" // a pod that fits on no node now
	reasonQuota = "ExceededResourceQuota" // a pod that may not be made now
	reasonWaits = "Pending"               // any other
)

// unschedulable says what the task waits for in vain, "" where it does not. The words of its condition are Tekton's:
// it repeats the condition of the pod unless that is too little CPU or memory.
func unschedulable(task *tektonv1.TaskRun) string {
	c := task.Status.GetCondition("Succeeded")
	switch {
	case c == nil || c.Status != corev1.ConditionUnknown:
		return ""
	case c.Reason == reasonNodes:
		return "no node has enough CPU or memory left for its pod"
	case c.Reason == reasonQuota:
		return "the quota of the namespace has no room for its pod: " + oneLine(c.Message)
	case c.Reason == reasonWaits && slices.ContainsFunc(schedulerSigns(),
		func(sign string) bool { return strings.Contains(c.Message, sign) }):
		return "its pod fits on no node: " + oneLine(c.Message)
	}
	return ""
}

// schedulerSigns are signs of the scheduler in what Tekton repeats.
func schedulerSigns() []string {
	return []string{`"PodScheduled":"False"`, "nodes are available"}
}

// oneLine is text on one line, without what Tekton puts around it and what preemption could not do.
func oneLine(text string) string {
	const most = 300
	if _, said, ok := strings.Cut(text, `message: "`); ok {
		text = strings.TrimSuffix(said, `"`)
	}
	text, _, _ = strings.Cut(text, ". preemption:")
	text = strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ".")
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// taskName is the name of the task in its Pipeline.
func taskName(task *tektonv1.TaskRun) string { return task.Labels[pipeline.PipelineTaskLabelKey] }

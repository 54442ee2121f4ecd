package cluster

import (
	"maps"
	"strconv"
	"strings"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Run is what everything that is made for a run says of it.
type Run struct {
	ID      string
	Attempt int
	Hub     string                 // identity of the hub, "" where nobody told
	Target  string                 // where it was let start, "" where nobody told
	Owner   *metav1.OwnerReference // with which the objects go, on the hub itself
}

// RunOf returns the run that a step with environment env belongs to. The owner is its PipelineRun.
func RunOf(id string, attempt int, env func(string) string) Run {
	run := Run{ID: id, Attempt: attempt, Hub: env(contract.EnvHub), Target: env(contract.EnvTarget)}
	if name, uid := env(contract.EnvPipelineRun), env(contract.EnvPipelineRunUID); name != "" && uid != "" {
		run.Owner = &metav1.OwnerReference{APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Name: name, UID: types.UID(uid)}
	}
	return run
}

// selector finds all that was made for the run, and no task pod: those carry no release.
func (r Run) selector() string { return contract.LabelRun + "=" + r.ID + "," + contract.LabelRelease }

// isEngine reports whether a pod of the run is one of the server under test.
func isEngine(pod *corev1.Pod) bool { return pod.Labels[contract.LabelRole] == contract.RoleEngine }

// labels are those of every object of a release. The old ones of the format are for affinity rules and dashboards of
// others; nothing of ours selects by them.
func (r Run) labels(plan *runplan.RunPlan, release string) map[string]string {
	labels := maps.Clone(plan.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, map[string]string{
		contract.LabelRun: r.ID, contract.LabelRelease: release, contract.LabelAttempt: strconv.Itoa(r.Attempt),
		contract.LabelPlanHash: value(plan.Hash), contract.LabelExperiment: experiment(plan.Experiment),
		contract.LabelTarget: value(plan.On(r.Target).Target.Name), contract.LabelRole: contract.RoleEngine,
		contract.LabelManagedBy:  contract.ManagedBy,
		"app.kubernetes.io/name": "benchflow", "app.kubernetes.io/instance": release,
		"app.kubernetes.io/component": "raw-vllm",
		"benchflow.io/experiment":     experiment(plan.Experiment), "benchflow.io/platform": value(plan.Deployment.Platform),
		"benchflow.io/mode": value(plan.Deployment.Mode), "benchflow.io/release": release,
	})
	if r.Hub != "" {
		labels[contract.LabelHub] = r.Hub
	}
	return labels
}

// own are the labels by which a Deployment and a Service find the pods. They can never change, so they are few.
func (r Run) own(release string) map[string]string {
	return map[string]string{contract.LabelRun: r.ID, contract.LabelRelease: release,
		contract.LabelRole: contract.RoleEngine}
}

// experiment is the name as written where a label can hold it, else as the name of a run begins.
func experiment(name string) string {
	if name == value(name) {
		return name
	}
	return value(runplan.Base(name))
}

// value returns s with what a label value cannot hold as "-", cut to 63 characters.
func value(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, s)
	clean = strings.TrimLeft(clean, "-_.")
	return strings.TrimRight(clean[:min(len(clean), 63)], "-_.")
}

package cluster_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/cluster"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func pending(pr *tektonv1.PipelineRun) {
	pr.Spec.Status = tektonv1.PipelineRunSpecStatusPending
	pr.Labels[contract.LabelQueue] = "local"
}

func TestStatusOf(t *testing.T) {
	running, failed := corev1.ConditionUnknown, corev1.ConditionFalse
	provision := func(message string, exit int32) []tektonv1.TaskRun {
		return []tektonv1.TaskRun{*makeTask("r", contract.Provision, failed, "Failed", message, code(exit))}
	}
	tests := []struct {
		name    string
		run     *tektonv1.PipelineRun
		tasks   []tektonv1.TaskRun
		state   local.State
		exit    int
		message string
	}{
		{name: "a run that nobody has looked at waits", run: makeRun("r", pending), state: local.Pending,
			message: `it waits in queue "local"`},
		{name: "one that waits says why", run: makeRun("r", pending, func(pr *tektonv1.PipelineRun) {
			pr.Annotations = map[string]string{contract.AnnotationReason: `Place 3 in queue "local", waits for 4 nvidia.com/gpu`}
		}), state: local.Pending, message: `Place 3 in queue "local", waits for 4 nvidia.com/gpu`},
		{name: "one without a queue label is pending by somebody's hand", run: makeRun("r", func(pr *tektonv1.PipelineRun) {
			pr.Spec.Status = tektonv1.PipelineRunSpecStatusPending
		}), state: local.Pending, message: "it is pending and names no queue, so it has to be started by hand"},
		{name: "one that goes on has nothing to say", run: makeRun("r", begun(contract.Provision),
			condition(running, "Running", "Tasks Completed: 0")), state: local.Running},
		{name: "a pod that cannot start is named",
			run: makeRun("r", begun(contract.Provision), condition(running, "Running", "")),
			tasks: []tektonv1.TaskRun{*makeTask("r", contract.Provision, running, "Pending",
				`0/1 nodes are available: 1 Insufficient cpu`, nil)},
			state:   local.Running,
			message: `task "provision": its pod cannot start: 0/1 nodes are available: 1 Insufficient cpu`},
		{name: "what the scheduler could not do by preemption is not told",
			run: makeRun("r", begun(contract.LoadGen+"-0"), condition(running, "Running", "")),
			tasks: []tektonv1.TaskRun{*makeTask("r", contract.LoadGen+"-0", running, "Pending",
				`pod status "PodScheduled":"False"; message: "0/2 nodes are available: 2 node(s) didn't match Pod's node `+
					`affinity/selector. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."`, nil)},
			state: local.Running,
			message: `task "load-gen-0": its pod cannot start: 0/2 nodes are available: 2 node(s) didn't match Pod's node ` +
				`affinity/selector`},
		{name: "a pod that finds too little on any node is told",
			run: makeRun("r", begun(contract.LoadGen+"-0"), condition(running, "Running", "")),
			tasks: []tektonv1.TaskRun{*makeTask("r", contract.LoadGen+"-0", running, "ExceededNodeResources",
				`TaskRun Pod exceeded available resources`, nil)},
			state: local.Running, message: `task "load-gen-0": its pod cannot start: no node has enough left for it`},
		{name: "the stations every pod passes are not told",
			run: makeRun("r", begun(contract.Provision), condition(running, "Running", "")),
			tasks: []tektonv1.TaskRun{*makeTask("r", contract.Provision, running, "Pending", `pod status "Initialized":"False"`,
				nil)}, state: local.Running},
		{name: "the exit code of a step is the run's", run: makeRun("r", begun(contract.Provision, contract.Finish),
			condition(failed, "Failed", "Tasks Completed: 1")),
			tasks: provision(`"step-provision" exited with code 3: Error`, 3), state: local.Failed, exit: contract.ExitUnhealthy,
			message: `task "provision": "step-provision" exited with code 3: Error`},
		{name: "an exit code that is not documented is the general one",
			run:   makeRun("r", begun(contract.Provision), condition(failed, "Failed", "")),
			tasks: provision("x", 137), state: local.Failed, exit: contract.ExitFail, message: `task "provision": x`},
		{name: "where TaskRuns are gone the verdict is left",
			run: makeRun("r", condition(failed, "Failed", "Tasks Completed: 7"), func(pr *tektonv1.PipelineRun) {
				pr.Status.Results = []tektonv1.PipelineRunResult{{Name: contract.ResultVerdict,
					Value: *tektonv1.NewStructuredValues("invalid")}}
			}), state: local.Failed, exit: contract.ExitInvalid, message: "Tasks Completed: 7"},
		{name: "a Pipeline that is not there is Tekton's word",
			run:   makeRun("r", condition(failed, "CouldntGetPipeline", "Error retrieving pipeline")),
			state: local.Failed, exit: contract.ExitFail, message: "Error retrieving pipeline"},
		{name: "a run cancelled while it waited never started",
			run:   makeRun("r", condition(failed, "Cancelled", "cancelled")),
			state: local.Cancelled, exit: contract.ExitInterrupted, message: "the run was cancelled before it started"},
		{name: "a cancelled run is interrupted", run: makeRun("r", begun(contract.Provision),
			condition(failed, "CancelledRunningFinally", "")),
			state: local.Cancelled, exit: contract.ExitInterrupted, message: "the run was cancelled"},
		{name: "one that is being cancelled goes on", run: makeRun("r", begun(contract.Provision),
			condition(running, "Running", ""), func(pr *tektonv1.PipelineRun) {
				pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelledRunFinally
			}), state: local.Running, message: "it is being cancelled; its finally tasks clean up"},
		{name: "a timeout is no failure of a task", run: makeRun("r", begun(contract.Provision),
			condition(failed, "PipelineRunTimeout", `"r" failed to finish within "1h"`)),
			state: local.TimedOut, exit: contract.ExitFail, message: `"r" failed to finish within "1h"`},
		{name: "a green run is green", run: makeRun("r", begun(contract.Provision),
			condition(corev1.ConditionTrue, "Succeeded", "Tasks Completed: 7")),
			state: local.Succeeded, message: "Tasks Completed: 7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := cluster.StatusOf(&cluster.Run{ID: "r", Namespace: namespace, Attempts: []tektonv1.PipelineRun{*tt.run}},
				tt.tasks)
			if s.State != tt.state || s.ExitCode != tt.exit || s.Message != tt.message {
				t.Errorf("got %s, exit code %d, %q; want %s, exit code %d, %q", s.State, s.ExitCode, s.Message, tt.state, tt.exit,
					tt.message)
			}
			if s.Alive == s.State.Done() {
				t.Errorf("alive %t and %s", s.Alive, s.State)
			}
		})
	}
}

// TestATaskThatWaitsForANodeSaysWhatIsMissing asks the pod, because Tekton does not repeat what the scheduler says.
func TestATaskThatWaitsForANodeSaysWhatIsMissing(t *testing.T) {
	srv, c := newCluster(t)
	pr := makeRun("r", begun(contract.LoadGen+"-0"), condition(corev1.ConditionUnknown, "Running", ""))
	run := &cluster.Run{ID: "r", Namespace: namespace, Attempts: []tektonv1.PipelineRun{*pr}}
	srv.Put(tasksAt+"/r-load-gen-0", makeTask("r", contract.LoadGen+"-0", corev1.ConditionUnknown, "ExceededNodeResources",
		"TaskRun Pod exceeded available resources", nil))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "r-load-gen-0-pod", Namespace: namespace},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are " +
				"available: 1 No preemption victims found for incoming pod.",
		}}}}
	for _, row := range []struct{ name, want string }{
		{"who may not see the pod learns that it waits for a node",
			`task "load-gen-0": its pod cannot start: no node has enough left for it`},
		{"who sees the pod learns what is missing",
			`task "load-gen-0": its pod cannot start: 0/1 nodes are available: 1 Insufficient cpu`},
	} {
		s, err := c.Status(t.Context(), run)
		if err != nil || s.Message != row.want {
			t.Errorf("%s: %q, %v", row.name, s.Message, err)
		}
		srv.Put("/api/v1/namespaces/bench/pods/r-load-gen-0-pod", pod)
	}
}

// TestTheLastLineOfAFailedStepIsItsReason reads the log of the step, which its node may tell late or not at all.
func TestTheLastLineOfAFailedStepIsItsReason(t *testing.T) {
	const alone = `task "provision": "step-provision" exited with code 3: Error`
	for _, row := range []struct {
		name    string
		refused []int // answers to those who ask for the log; afterwards it is told
		wants   string
	}{
		{"a node that answers", nil,
			`task "provision": step "provision" exited with code 3: CrashLoopBackOff: it ended with exit code 2`},
		{"a busy one that answers the second time", []int{http.StatusInternalServerError},
			`task "provision": step "provision" exited with code 3: CrashLoopBackOff: it ended with exit code 2`},
		{"a log that whoever asks may not read", slices.Repeat([]int{http.StatusForbidden}, 99), alone},
		{"a pod that is gone", slices.Repeat([]int{http.StatusNotFound}, 99), alone},
		{"a node that does not answer", slices.Repeat([]int{http.StatusInternalServerError}, 99),
			alone + "; its log could not be read ("},
	} {
		t.Run(row.name, func(t *testing.T) {
			srv, c := newCluster(t)
			pr := makeRun("r", begun(contract.Provision), condition(corev1.ConditionFalse, "Failed", ""))
			srv.Put(tasksAt+"/r-provision", makeTask("r", contract.Provision, corev1.ConditionFalse, "Failed",
				`"step-provision" exited with code 3: Error`, code(3)))
			srv.Say(namespace, "r-provision-pod", "step-provision", "deployed", "CrashLoopBackOff: it ended with exit code 2",
				"")
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var asked atomic.Int32
			srv.Refuse(func(q apitest.Request) (int, string) {
				n := int(asked.Load())
				if q.Subresource != "log" || n == len(row.refused) {
					return 0, ""
				}
				if asked.Add(1) == 3 { // the patience of whoever asks ends
					stop()
				}
				return row.refused[n], "no log"
			})
			s, err := c.Status(ctx, &cluster.Run{ID: "r", Namespace: namespace, Attempts: []tektonv1.PipelineRun{*pr}})
			if err != nil || s.Message != row.wants && (!strings.HasSuffix(row.wants, "(") ||
				!strings.HasPrefix(s.Message, row.wants)) {
				t.Errorf("%q, %v, want %q", s.Message, err, row.wants)
			}
		})
	}
}

func TestTasksStandInTheOrderOfTheirPipeline(t *testing.T) {
	run := makeRun("r", begun("provision", "smoketest", contract.Finish), condition(corev1.ConditionFalse, "Failed", ""))
	s := cluster.StatusOf(&cluster.Run{ID: "r", Attempts: []tektonv1.PipelineRun{*run}}, []tektonv1.TaskRun{
		*makeTask("r", contract.Finish, corev1.ConditionTrue, "Succeeded", "", code(0)),
		*makeTask("r", "provision", corev1.ConditionFalse, "Failed", "x", code(3)),
		*makeTask("other", "smoketest", corev1.ConditionTrue, "Succeeded", "", code(0))})
	want := []local.State{local.Failed, local.Skipped, local.Succeeded}
	for i, state := range want {
		if s.Tasks[i].State != state {
			t.Errorf("task %s is %s, want %s", s.Tasks[i].Name, s.Tasks[i].State, state)
		}
	}
	if !s.Tasks[2].Finally {
		t.Error("finish is a finally task")
	}
}

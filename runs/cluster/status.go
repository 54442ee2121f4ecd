package cluster

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/pipelines/local"
	queuerun "bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/verdict"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"knative.dev/pkg/apis"
)

type (
	// Status describes a run of any kind.
	Status = runs.Status
	// Queue describes the queue that a run waits in.
	Queue = runs.Queue
	// Neighbour is another run that holds devices of the same target.
	Neighbour = runs.Neighbour
	// Neighbours are the runs that hold devices of a target.
	Neighbours = runs.Neighbours
	// Pod is that of every kind of run.
	Pod = runs.Pod
)

// StatusOf puts together what the objects of a run say. It asks nobody.
func StatusOf(run *Run, tasks []tektonv1.TaskRun) Status {
	pr := run.Last()
	s := Status{Namespace: run.Namespace, Experiment: pr.Annotations[contract.AnnotationName],
		PlanHash: pr.Labels[contract.LabelPlanHash],
		Created:  run.Attempts[0].CreationTimestamp.UTC(), Queue: queueOf(pr)}
	s.RunID, s.Attempt = run.ID, queuerun.Attempt(pr)
	s.Volume = afterwards(pr)
	s.Model, s.Load, s.Matrix = pr.Annotations[contract.AnnotationModel], pr.Annotations[contract.AnnotationLoad],
		pr.Labels[contract.LabelMatrix]
	if pr.Spec.PipelineRef != nil {
		s.Pipeline = pr.Spec.PipelineRef.Name
	}
	s.Tasks = taskList(pr, tasks)
	s.Results = local.Results{}
	for _, r := range pr.Status.Results {
		s.Results[r.Name] = r.Value
	}
	s.State, s.Reason = stateOf(pr)
	s.Alive = !s.State.Done()
	s.Started, s.Finished = times(pr, s.State)
	if pr.Status.FinallyStartTime != nil && s.Alive {
		s.Phase = "finally"
	} else if s.State == local.Running {
		s.Phase = "tasks"
	}
	s.Message, s.ExitCode = sentence(&s, pr), exitCode(&s)
	if server := staying(&s, pr); server != "" {
		s.Message += "; " + server
	}
	return s
}

// staying says where the model server of a run that has ended goes on, "" where it does not.
func staying(s *Status, pr *tektonv1.PipelineRun) string {
	endpoint := runs.EndpointOf(&s.Status)
	if pr.Annotations[contract.AnnotationKeepServer] == "" || !pr.IsDone() || s.State == local.Cancelled ||
		endpoint == "" || !stamp(pr, contract.AnnotationReleased).IsZero() || queuerun.Again(pr) {
		return ""
	}
	end := "for " + pr.Annotations[contract.AnnotationKeepServer]
	if until := pr.Annotations[contract.AnnotationServerUntil]; until != "" {
		end = "until " + until
	}
	return fmt.Sprintf("its model server stays at %s %s, or until bflow delete %s", endpoint, end, s.RunID)
}

func queueOf(pr *tektonv1.PipelineRun) *Queue {
	name := queuerun.Queue(pr)
	if name == "" {
		return nil
	}
	q := &Queue{Name: name, Admitted: stamp(pr, contract.AnnotationAdmitted), Freed: stamp(pr, contract.AnnotationFreed),
		Released: stamp(pr, contract.AnnotationReleased)}
	_ = json.Unmarshal([]byte(pr.Annotations[contract.AnnotationRequests]), &q.Requests) // the controller judges it
	if pr.Spec.Status == tektonv1.PipelineRunSpecStatusPending || pr.IsDone() && q.Released.IsZero() {
		q.Reason = pr.Annotations[contract.AnnotationReason]
		q.ByController, q.Position = q.Reason != "", placeIn(q.Reason)
	}
	return q
}

// stamp is the time in an annotation, zero where there is none.
func stamp(pr *tektonv1.PipelineRun, annotation string) time.Time {
	t, _ := time.Parse(time.RFC3339, pr.Annotations[annotation])
	return t
}

// stateOf translates Tekton's condition.
func stateOf(pr *tektonv1.PipelineRun) (local.State, string) {
	cond := pr.Status.GetCondition(apis.ConditionSucceeded)
	switch {
	case cond == nil && pr.Spec.Status == tektonv1.PipelineRunSpecStatusPending:
		return local.Pending, tektonv1.PipelineRunReasonPending.String()
	case cond == nil:
		return local.Running, tektonv1.PipelineRunReasonStarted.String()
	case cond.Status == corev1.ConditionTrue:
		return local.Succeeded, cond.Reason
	case cond.Status != corev1.ConditionFalse && pr.Spec.Status == tektonv1.PipelineRunSpecStatusPending:
		return local.Pending, cond.Reason
	case cond.Status != corev1.ConditionFalse:
		return local.Running, cond.Reason
	}
	switch tektonv1.PipelineRunReason(cond.Reason) {
	case tektonv1.PipelineRunReasonCancelled, tektonv1.PipelineRunReasonCancelledRunningFinally,
		tektonv1.PipelineRunReasonStoppedRunningFinally:
		return local.Cancelled, cond.Reason
	case tektonv1.PipelineRunReasonTimedOut, tektonv1.PipelineRunReasonTimedOutRunningFinally:
		return local.TimedOut, cond.Reason
	}
	return local.Failed, cond.Reason
}

// afterwards says what has become of the volume and the results of a run since its end.
func afterwards(pr *tektonv1.PipelineRun) string {
	if gone := pr.Annotations[contract.AnnotationVolumeDeleted]; gone != "" {
		return "deleted on " + gone
	}
	if at := pr.Annotations[contract.AnnotationFetched]; at != "" {
		return "its results were fetched on " + at
	}
	return ""
}

// times are when the attempt began and ended. One that waits began when it was made: that is how long somebody waits.
// Tekton gives also a run that never ran a start, so only a run that has ended is believed to have had none.
func times(pr *tektonv1.PipelineRun, state local.State) (started, finished time.Time) {
	started = pr.CreationTimestamp.UTC()
	if pr.Status.StartTime != nil && state != local.Pending {
		started = pr.Status.StartTime.UTC()
	}
	if pr.Status.CompletionTime != nil {
		finished = pr.Status.CompletionTime.UTC()
	}
	return started, finished
}

// sentence says what a person wants to know first.
func sentence(s *Status, pr *tektonv1.PipelineRun) string {
	stopping := pr.Spec.Status != "" && pr.Spec.Status != tektonv1.PipelineRunSpecStatusPending
	fell := slices.IndexFunc(s.Tasks, func(t local.Task) bool {
		return t.State == local.Failed ||
			t.State == local.TimedOut
	})
	_, stopped, _ := strings.Cut(pr.Annotations[queuerun.AnnotationStopped], ":")
	switch {
	case s.State == local.Pending && s.Queue == nil:
		return "it is pending and names no queue, so it has to be started by hand"
	case s.State == local.Pending:
		return s.Queue.Sentence()
	case s.State == local.Running && pr.DeletionTimestamp != nil:
		return "it is being deleted"
	case s.State == local.Running && stopping && !queuerun.Started(pr):
		return "it is being cancelled; it had not started"
	case s.State == local.Running && stopping:
		return "it is being cancelled; its finally tasks clean up"
	case s.State == local.Running:
		return waiting(s)
	case s.State == local.Cancelled && stopped != "":
		return "bflow-controller ended it:" + stopped
	case s.State == local.Cancelled && queuerun.Started(pr):
		return "the run was cancelled"
	case s.State == local.Cancelled:
		return "the run was cancelled before it started"
	case s.State != local.Succeeded && fell >= 0:
		return fmt.Sprintf("task %q: %s", s.Tasks[fell].Name, s.Tasks[fell].Message)
	}
	if cond := pr.Status.GetCondition(apis.ConditionSucceeded); cond != nil {
		return plain(cond.Message)
	}
	return ""
}

// waiting is what keeps a running task from its work, "" where nothing does.
func waiting(s *Status) string {
	for _, t := range s.Tasks {
		if t.State == local.Running && t.Message != "" {
			return fmt.Sprintf("task %q: %s", t.Name, t.Message)
		}
	}
	return ""
}

// plain drops the advice that Tekton gives beside its reason, and says its counts in the words of a local run.
func plain(message string) string {
	message, _, _ = strings.Cut(message, "\n")
	var completed, failed, cancelled, skipped int
	if n, _ := fmt.Sscanf(message, "Tasks Completed: %d (Failed: %d, Cancelled %d), Skipped: %d", &completed, &failed,
		&cancelled, &skipped); n < 4 {
		return strings.TrimSpace(message)
	}
	if failed > 0 {
		return fmt.Sprintf("%d succeeded, %d failed, %d skipped; see bflow status", completed-failed-cancelled, failed,
			skipped)
	}
	return fmt.Sprintf("%d succeeded, %d skipped", completed-failed-cancelled, skipped)
}

// exitCode is the documented exit code: of several failures the one that says most, as for a local run. Tekton keeps
// the code of each step; where its TaskRuns are gone the verdict is what is left.
func exitCode(s *Status) int {
	switch s.State {
	case local.Cancelled:
		return contract.ExitInterrupted
	case local.Failed, local.TimedOut:
	default:
		return contract.ExitPass
	}
	var codes []int
	for _, t := range s.Tasks {
		if (t.State == local.Failed || t.State == local.TimedOut) && !t.Ignored {
			codes = append(codes, known(t.ExitCode))
		}
	}
	if code := verdict.ExitCode(codes...); code != contract.ExitPass {
		return code
	}
	switch s.Verdict() {
	case verdict.Invalid:
		return contract.ExitInvalid
	case verdict.Inconclusive:
		return contract.ExitInconclusive
	}
	return contract.ExitFail
}

// known maps an exit code that is not documented to the general one.
func known(code int) int {
	if code >= contract.ExitFail && code <= contract.ExitInconclusive {
		return code
	}
	return contract.ExitFail
}

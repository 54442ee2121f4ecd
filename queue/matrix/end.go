package matrix

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/queue/retry"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// end is whether somebody wants the end of a matrix.
type end struct {
	wanted bool
	force  bool // none of the tasks of its runs runs any more: the controller takes everything down
}

// endOf asks the matrix and its parent. Tekton tells a matrix of the end of its parent a moment later, and does not
// tell it whether that is by force.
func endOf(cr *tektonv1beta1.CustomRun, parent *tektonv1.PipelineRun) end {
	e := end{wanted: Ending(cr)}
	switch {
	case parentOf(cr) == nil:
	case parent == nil:
		e.wanted = true
	default:
		e.wanted = e.wanted || parentEnding(parent)
		e.force = e.wanted && parent.Annotations[contract.AnnotationForce] != ""
	}
	return e
}

// Ending says whether a matrix is to come to its end before all its runs have: nothing more may start.
func Ending(cr *tektonv1beta1.CustomRun) bool {
	return cr.IsCancelled() || !cr.DeletionTimestamp.IsZero() || cr.Annotations[contract.AnnotationCancel] != ""
}

func parentEnding(pr *tektonv1.PipelineRun) bool {
	return run.Stopping(pr) || run.Cancelling(pr) || !pr.DeletionTimestamp.IsZero()
}

// mark writes on a matrix that it ends, before anything else is done for that: from then on nothing is made or let
// start, whatever happens to its parent.
func (r *Reconciler) mark(ctx context.Context, cr *tektonv1beta1.CustomRun, e end) error {
	if !e.wanted || cr.Annotations[contract.AnnotationCancel] != "" {
		return nil
	}
	before := client.MergeFromWithOptions(cr.DeepCopy(), client.MergeFromWithOptimisticLock{})
	annotations := maps.Clone(cr.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[contract.AnnotationCancel] = r.clock.Now().UTC().Format(time.RFC3339)
	cr.Annotations = annotations
	if err := r.client.Patch(ctx, cr, before); err != nil {
		return fmt.Errorf("marking that it ends: %w", err)
	}
	r.log.Info("matrix ends", "namespace", cr.Namespace, "matrix", nameOf(cr))
	return nil
}

// cancel tells runs to end: first those that wait, so that none takes the place of one that goes, then those that
// run. Where the matrix only starts nothing more, those that run go on. One that cannot be told keeps it from no
// other: it is not let start either, for its matrix ends.
func (r *Reconciler) cancel(ctx context.Context, m *matrix) error {
	if !m.ending {
		return nil
	}
	var problems []error
	for _, want := range []phase{queued, running} {
		if want == running && !m.end.wanted {
			break
		}
		for _, i := range slices.Sorted(maps.Keys(m.children)) {
			c := m.children[i]
			if c.phase() != want {
				continue
			}
			if err := r.stop(ctx, c.last(), m.end.force); err != nil {
				problems = append(problems, fmt.Errorf("telling run %q to end: %w", c.last().Name, err))
			}
		}
	}
	return errors.Join(problems...)
}

// stop tells one run to end. One that waits is Cancelled: to run its finally tasks would be to let it start. By force
// also one that has ended and holds its quota is told.
func (r *Reconciler) stop(ctx context.Context, pr *tektonv1.PipelineRun, force bool) error {
	status, over := pr.Spec.Status, run.Over(pr)
	switch {
	case over || pr.IsCancelled():
	case force || !run.Started(pr):
		status = tektonv1.PipelineRunSpecStatusCancelled
	case !run.Stopping(pr):
		status = tektonv1.PipelineRunSpecStatusCancelledRunFinally
	}
	told := run.Cancelling(pr) && (!force || pr.Annotations[contract.AnnotationForce] != "")
	if status == pr.Spec.Status && (told || over && !force && !retry.Due(pr)) {
		return nil
	}
	return client.IgnoreNotFound(r.change(ctx, pr, func(pr *tektonv1.PipelineRun) {
		pr.Spec.Status = status
		annotate(pr, contract.AnnotationCancel, r.clock.Now().UTC().Format(time.RFC3339))
		if force {
			annotate(pr, contract.AnnotationForce, "true")
		}
	}))
}

// dropFinalizers takes our finalizer off runs.
func (r *Reconciler) dropFinalizers(ctx context.Context, runs []tektonv1.PipelineRun) error {
	var problems []error
	for i := range runs {
		if !guarded(&runs[i]) {
			continue
		}
		err := r.change(ctx, &runs[i], func(pr *tektonv1.PipelineRun) {
			pr.Finalizers = slices.DeleteFunc(slices.Clone(pr.Finalizers),
				func(f string) bool { return f == contract.FinalizerMatrix })
		})
		problems = append(problems, client.IgnoreNotFound(err))
	}
	return errors.Join(problems...)
}

// change patches a run as it was seen: somebody may let it start just now.
func (r *Reconciler) change(ctx context.Context, seen *tektonv1.PipelineRun, edit func(*tektonv1.PipelineRun)) error {
	pr := seen.DeepCopy()
	before := client.MergeFromWithOptions(seen.DeepCopy(), client.MergeFromWithOptimisticLock{})
	edit(pr)
	if err := r.client.Patch(ctx, pr, before); err != nil {
		return fmt.Errorf("changing run %q: %w", pr.Name, err)
	}
	return nil
}

func annotate(pr *tektonv1.PipelineRun, key, value string) {
	annotations := maps.Clone(pr.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	pr.Annotations = annotations
}

func byName(a, b tektonv1.PipelineRun) int { return strings.Compare(a.Name, b.Name) }

// guard keeps a matrix until all its runs are released.
func (r *Reconciler) guard(ctx context.Context, cr *tektonv1beta1.CustomRun) error {
	if !cr.DeletionTimestamp.IsZero() || slices.Contains(cr.Finalizers, contract.FinalizerMatrix) {
		return nil
	}
	before := client.MergeFromWithOptions(cr.DeepCopy(), client.MergeFromWithOptimisticLock{})
	cr.Finalizers = append(slices.Clone(cr.Finalizers), contract.FinalizerMatrix)
	if err := r.client.Patch(ctx, cr, before); err != nil {
		return fmt.Errorf("adding its finalizer: %w", err)
	}
	return nil
}

// finish says how the matrix ended.
func (r *Reconciler) finish(ctx context.Context, m *matrix, now *state.State) error {
	now.Finish, now.Waits = time.Time{}, nil
	err := r.status(ctx, m.CustomRun, now, func(s *tektonv1beta1.CustomRunStatus) {
		s.InitializeConditions()
		s.Results = []tektonv1beta1.CustomRunResult{
			{Name: contract.ResultVerdict, Value: now.Counts.Verdict()},
			{Name: resultPassed, Value: strconv.Itoa(now.Counts.Passed)},
			{Name: resultEnded, Value: strconv.Itoa(now.Counts.Ended())},
		}
		text := now.Sentence(r.clock.Now())
		switch {
		case m.end.wanted:
			s.MarkCustomRunFailed(tektonv1beta1.CustomRunReasonCancelled.String(), "%s", text)
		case m.bad():
			s.MarkCustomRunFailed(tektonv1beta1.CustomRunReasonFailed.String(), "%s", text)
		default:
			s.MarkCustomRunSucceeded(tektonv1beta1.CustomRunReasonSuccessful.String(), "%s", text)
		}
	})
	if err != nil {
		return err
	}
	r.log.Info("matrix ended", "namespace", m.Namespace, "matrix", nameOf(m.CustomRun), "counts", now.Counts.String())
	var runs []tektonv1.PipelineRun
	for _, c := range m.children {
		for _, pr := range c.attempts {
			runs = append(runs, *pr)
		}
	}
	return r.close(ctx, m.CustomRun, runs)
}

// Results of a matrix besides its verdict.
const (
	resultPassed = "passed"
	resultEnded  = "ended"
)

// bad says whether a point failed, or was not measured.
func (m *matrix) bad() bool {
	return slices.ContainsFunc(m.outcomes, func(o state.Outcome) bool { return o.Red() || o.Verdict() == "" })
}

// close lets everything of a matrix go that has ended.
func (r *Reconciler) close(ctx context.Context, cr *tektonv1beta1.CustomRun, runs []tektonv1.PipelineRun) error {
	if err := r.dropFinalizers(ctx, runs); err != nil {
		return err
	}
	if err := r.letParentGo(ctx, cr); err != nil {
		return err
	}
	r.forget(cr.UID)
	if !slices.Contains(cr.Finalizers, contract.FinalizerMatrix) {
		return nil
	}
	before := client.MergeFromWithOptions(cr.DeepCopy(), client.MergeFromWithOptimisticLock{})
	cr.Finalizers = slices.DeleteFunc(slices.Clone(cr.Finalizers),
		func(f string) bool { return f == contract.FinalizerMatrix })
	if err := r.client.Patch(ctx, cr, before); err != nil {
		return fmt.Errorf("removing its finalizer: %w", err)
	}
	return nil
}

// recorded are the runs whose end is written down: nobody needs them any more.
func (m *matrix) recorded() []tektonv1.PipelineRun {
	recorded, err := state.Decode(m.was.Outcomes, m.order.points)
	if err != nil {
		return nil
	}
	var out []tektonv1.PipelineRun
	for i, c := range m.children {
		if recorded[i].Ended() {
			for _, pr := range c.attempts {
				out = append(out, *pr)
			}
		}
	}
	slices.SortFunc(out, byName)
	return out
}

// over says whether every point has come to its end, written down, and nothing of any run is left on a target.
func (m *matrix) over() bool {
	recorded, err := state.Decode(m.was.Outcomes, m.order.points)
	if err != nil || slices.ContainsFunc(recorded, func(o state.Outcome) bool { return !o.Ended() }) {
		return false
	}
	for _, c := range m.children {
		if slices.ContainsFunc(c.attempts, run.Holding) {
			return false
		}
	}
	return true
}

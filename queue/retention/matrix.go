package retention

import (
	"context"
	"fmt"
	"time"

	"bflow.dev/bflow/queue/matrix"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// gatherPollInterval is when a task that gathers is looked at again: no watch tells of it.
const gatherPollInterval = 5 * time.Second

// Matrices looks after matrices, by the name of their CustomRun: it gathers the results of their runs on one volume,
// and lets the whole go when it has had its time.
type Matrices struct {
	runs *Reconciler
}

var _ reconcile.Reconciler = (*Matrices)(nil)

// NewMatrices makes the reconciler of matrices beside that of their runs.
func NewMatrices(runs *Reconciler) *Matrices { return &Matrices{runs: runs} }

// Reconcile looks at one matrix.
func (m *Matrices) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if ours, err := watch.IsRunNamespace(ctx, m.runs.client, req.Namespace); err != nil || !ours {
		return ctrl.Result{}, err
	}
	cr := &tektonv1beta1.CustomRun{}
	if err := m.runs.live.Get(ctx, req.NamespacedName, cr); err != nil || !cr.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	parent, err := m.parent(ctx, cr)
	if err != nil || parent == nil || !parent.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, err
	}
	var cached tektonv1.PipelineRunList
	if err := m.runs.client.List(ctx, &cached, client.InNamespace(req.Namespace),
		client.MatchingFields{matrix.Index: req.Name}); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing the runs of matrix %q: %w", parent.Name, err)
	}
	g, whole := newGathering(parent, cached.Items)
	wait, err := m.gather(ctx, g, cr.IsDone())
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("gathering the results of matrix %q: %w", parent.Name, err)
	}
	if wait || !parent.IsDone() || !whole {
		return ctrl.Result{RequeueAfter: waiting(wait)}, nil
	}
	again, err := m.expire(ctx, g)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("expiring matrix %q: %w", parent.Name, err)
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

func waiting(wait bool) time.Duration {
	if wait {
		return gatherPollInterval
	}
	return 0
}

func (m *Matrices) parent(ctx context.Context, cr *tektonv1beta1.CustomRun) (*tektonv1.PipelineRun, error) {
	owner := metav1.GetControllerOf(cr)
	if owner == nil || owner.Kind != "PipelineRun" {
		return nil, nil
	}
	parent := &tektonv1.PipelineRun{}
	if err := m.runs.live.Get(ctx, types.NamespacedName{Namespace: cr.Namespace, Name: owner.Name}, parent); err != nil ||
		parent.UID != owner.UID {
		return nil, client.IgnoreNotFound(err)
	}
	return parent, nil
}

// newGathering sorts the attempts of the runs of a matrix. whole says whether all runs that are there are at their end.
func newGathering(parent *tektonv1.PipelineRun, attempts []tektonv1.PipelineRun) (g *gathering, whole bool) {
	g, whole = &gathering{parent: parent, runs: map[string]ended{}}, true
	byRun := map[string][]tektonv1.PipelineRun{}
	for i := range attempts {
		id := run.ID(&attempts[i])
		byRun[id] = append(byRun[id], attempts[i])
	}
	for id, of := range byRun {
		if endedAt(of).IsZero() {
			whole = false
			continue
		}
		g.runs[id] = ended{attempts: of, last: lastOf(of)}
	}
	return g, whole
}

// gather brings the gathering a step further. all says that no more runs will be ready. wait says that a task is at it.
func (m *Matrices) gather(ctx context.Context, g *gathering, all bool) (wait bool, err error) {
	if g.parent.Annotations[contract.AnnotationResultsSize] == "" || imageOf(g.parent) == "" {
		return false, nil // its runs share a volume that is nobody's
	}
	var tasks tektonv1.TaskRunList
	err = m.runs.live.List(ctx, &tasks, client.InNamespace(g.parent.Namespace),
		client.MatchingLabels{contract.LabelRole: contract.RoleGather, contract.LabelMatrix: g.parent.Name})
	if err != nil {
		return false, fmt.Errorf("listing its tasks: %w", err)
	}
	for _, task := range tasks.Items {
		if owns(g.parent, &task) {
			g.tasks = append(g.tasks, task)
		}
	}
	if err := m.finish(ctx, g); err != nil {
		return false, err
	}
	if err := m.findVolumes(ctx, g); err != nil {
		return false, err
	}
	if next := g.next(all); len(next) > 0 {
		return true, m.start(ctx, g, next)
	}
	for i := range g.tasks {
		if !g.tasks[i].IsDone() {
			return true, nil
		}
	}
	return false, nil
}

func owns(parent *tektonv1.PipelineRun, o metav1.Object) bool {
	for _, ref := range o.GetOwnerReferences() {
		if ref.UID == parent.UID {
			return true
		}
	}
	return false
}

// expire deletes a matrix that has had its time, with all of its runs, once the results of each are somewhere else than
// on a cluster. It returns when to look again.
func (m *Matrices) expire(ctx context.Context, g *gathering) (again time.Duration, err error) {
	d := m.runs.keep.of(g.parent).dueOf(run.EndedAt(g.parent), m.runs.clock.Now())
	if d.pods { // of its own tasks: no cache has them
		if err := m.runs.deletePods(ctx, m.runs.live, g.parent); err != nil {
			return 0, err
		}
	}
	if !d.run {
		return m.runs.again(d).RequeueAfter, nil
	}
	for _, e := range g.runs {
		if !run.Started(e.last) {
			continue
		}
		where, err := m.runs.saved(ctx, e.last)
		if err != nil {
			return 0, err
		}
		if where == "" {
			return unsavedRecheckInterval, nil
		}
	}
	err = m.runs.client.Delete(ctx, g.parent, client.Preconditions{UID: &g.parent.UID},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return 0, fmt.Errorf("deleting PipelineRun %q: %w", g.parent.Name, err)
	}
	m.runs.log.Info("deleted a matrix that had ended", "namespace", g.parent.Namespace, "matrix", g.parent.Name, "runs",
		len(g.runs))
	return 0, nil
}

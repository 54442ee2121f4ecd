package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/queue/watch"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	kind = "CustomRun"

	// conflictRetryDelay is when a change that met another one is tried again.
	conflictRetryDelay = 200 * time.Millisecond
	// countsWriteInterval is how often the counts are written when no run has ended: each write is one for everybody
	// who watches.
	countsWriteInterval = 5 * time.Second
	// personRecheckInterval is when something that only a person can bring about is looked for again.
	personRecheckInterval = 30 * time.Second
	// batch is how many runs are made in one go.
	batch = 50
)

// Reconciler is the controller of matrices.
type Reconciler struct {
	client   client.Client // reads from caches
	live     client.Reader // reads past them
	compiler Compiler
	gate     *Gate
	events   events.EventRecorder
	clock    clock.PassiveClock
	log      *slog.Logger

	mu    sync.Mutex
	read  map[types.UID]Points
	wrote map[types.UID]time.Time // when the counts were last written
}

// NewReconciler makes the reconciler of CustomRuns.
func NewReconciler(c client.Client, live client.Reader, compiler Compiler, recorder events.EventRecorder,
	clk clock.PassiveClock,
	log *slog.Logger) *Reconciler {
	return &Reconciler{client: c, live: live, compiler: compiler, gate: NewGate(live), events: recorder, clock: clk,
		log:  log,
		read: map[types.UID]Points{}, wrote: map[types.UID]time.Time{}}
}

// Reconcile brings one matrix nearer to its end. What it decides by is read past the cache: a run that is gone and an
// outcome that is not seen yet would make the run a second time.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if ours, err := watch.IsRunNamespace(ctx, r.client, req.Namespace); err != nil || !ours {
		return ctrl.Result{}, err
	}
	cr := &tektonv1beta1.CustomRun{}
	err := r.live.Get(ctx, req.NamespacedName, cr)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("reading matrix %q: %w", req.Name, err)
	}
	if err != nil {
		cr = nil
	}
	runs, err := r.runs(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	mine, strangers := of(cr, runs)
	refused := r.dropFinalizers(ctx, strangers)
	if cr == nil || !Ours(cr) {
		return r.again(refused)
	}
	result, err := r.advance(ctx, cr, mine)
	if err := errors.Join(refused, err); err != nil {
		return r.again(fmt.Errorf("reconciling matrix %q: %w", nameOf(cr), err))
	}
	return result, nil
}

// again tries again in a moment where something has changed, or gone, under our hands.
func (r *Reconciler) again(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: conflictRetryDelay}, nil
	}
	return ctrl.Result{}, err
}

// of tells the runs of a matrix from those of one that is gone: nobody waits for their end any more.
func of(cr *tektonv1beta1.CustomRun, runs []tektonv1.PipelineRun) (mine, strangers []tektonv1.PipelineRun) {
	for _, pr := range runs {
		if cr != nil && owned(&pr, cr.UID) {
			mine = append(mine, pr)
		} else {
			strangers = append(strangers, pr)
		}
	}
	return mine, strangers
}

func owned(pr *tektonv1.PipelineRun, by types.UID) bool {
	for _, o := range pr.OwnerReferences {
		if o.UID == by {
			return true
		}
	}
	return false
}

func (r *Reconciler) advance(ctx context.Context, cr *tektonv1beta1.CustomRun,
	runs []tektonv1.PipelineRun) (ctrl.Result, error) {
	if cr.IsDone() {
		return ctrl.Result{}, r.close(ctx, cr, runs)
	}
	o, err := orderOf(cr)
	if err != nil {
		return ctrl.Result{}, r.refuse(ctx, cr, err)
	}
	if err := r.guard(ctx, cr); err != nil {
		return ctrl.Result{}, err
	}
	parent, err := r.parent(ctx, cr)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.keep(ctx, parent, o.mlflow); err != nil {
		return ctrl.Result{}, err
	}
	was, err := state.Read(cr.Status.ExtraFields.Raw, o.points)
	if err != nil {
		return ctrl.Result{}, err
	}
	outcomes, err := state.Decode(was.Outcomes, o.points)
	if err != nil {
		return ctrl.Result{}, err
	}
	end := endOf(cr, parent)
	if err := r.mark(ctx, cr, end); err != nil {
		return ctrl.Result{}, err
	}
	m := &matrix{CustomRun: cr, order: o, was: was, end: end,
		name:  func(i int) string { return r.compiler.ChildName(nameOf(cr), i+1) },
		sight: sight{rules: o.rules, outcomes: outcomes, ending: end.wanted || was.Stopped != ""}}
	if m.ending && slices.Contains(outcomes, state.None) {
		// a run that the cache has not seen yet must not be taken for none
		if runs, err = r.liveRuns(ctx, cr); err != nil {
			return ctrl.Result{}, err
		}
	}
	m.children = group(runs, o.points)
	return r.act(ctx, m, r.learn(ctx, m))
}

// matrix is one that is looked after.
type matrix struct {
	*tektonv1beta1.CustomRun
	order
	sight
	was    *state.State // as it was written last
	end    end
	points Points
	name   func(i int) string // of the run of a point
}

// learn reads the points. A matrix that is to end needs none; another one waits for them.
func (r *Reconciler) learn(ctx context.Context, m *matrix) error {
	points, err := r.points(ctx, m.CustomRun, m.order)
	if err != nil {
		return err
	}
	m.points = points
	m.about = func(i int) about { return about{points.Lane(i), points.Expected(i)} }
	return nil
}

func (r *Reconciler) act(ctx context.Context, m *matrix, missing error) (ctrl.Result, error) {
	switch {
	case missing == nil || m.ending:
	case apierrors.IsNotFound(missing) || transient(missing):
		now := m.was.Clone()
		now.Waits = []string{"it waits for its points: " + missing.Error()}
		_, err := r.write(ctx, m, now)
		return ctrl.Result{RequeueAfter: personRecheckInterval}, err
	case len(m.children) == 0:
		return ctrl.Result{}, r.refuse(ctx, m.CustomRun, missing)
	default:
		return ctrl.Result{}, missing
	}
	now, err := r.news(ctx, m)
	if err != nil {
		return ctrl.Result{}, err
	}
	later, err := r.write(ctx, m, now)
	if err != nil {
		return ctrl.Result{}, err
	}
	// A run that takes no change keeps its turn from no other: neither the end, nor the making of the next.
	refused := errors.Join(r.dropFinalizers(ctx, m.recorded()), r.cancel(ctx, m))
	unfit, more, err := r.make(ctx, m)
	if err != nil {
		return ctrl.Result{}, errors.Join(refused, err)
	}
	switch {
	case len(unfit) > 0:
		_, err := r.write(ctx, m, m.without(now, unfit))
		return ctrl.Result{RequeueAfter: conflictRetryDelay}, errors.Join(refused, err)
	case refused != nil:
		return ctrl.Result{}, refused
	case m.over():
		return r.conclude(ctx, m, now)
	case more:
		return ctrl.Result{RequeueAfter: conflictRetryDelay}, nil
	}
	return ctrl.Result{RequeueAfter: later}, nil
}

// conclude ends a matrix of which nothing runs any more.
func (r *Reconciler) conclude(ctx context.Context, m *matrix, now *state.State) (ctrl.Result, error) {
	wait, err := r.aggregate(ctx, m.CustomRun)
	if err != nil {
		return ctrl.Result{}, err
	}
	if wait {
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	return ctrl.Result{}, r.finish(ctx, m, now)
}

// transient says whether the same question may have another answer later.
func transient(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) || errors.Is(err, context.DeadlineExceeded)
}

// news is the state as it is to be written.
func (r *Reconciler) news(ctx context.Context, m *matrix) (*state.State, error) {
	now := m.was.Clone()
	outcomes := m.write()
	for _, i := range m.lost() {
		err := r.live.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.child(i)}, &tektonv1.PipelineRun{})
		if apierrors.IsNotFound(err) {
			outcomes[i] = state.Deleted
		} else if err != nil {
			return nil, err
		}
	}
	if now.Spent == nil {
		now.Spent = map[string]state.Spent{}
	}
	for i, o := range outcomes {
		if o.Ended() && !m.outcomes[i].Ended() {
			m.note(now, i, o)
		}
	}
	if why := m.failed(outcomes); why != "" && now.Stopped == "" {
		now.Stopped, m.ending = why, true // what is not made is skipped with the next look, at what there is now
	}
	now.Counts = m.counts(outcomes)
	now.Outcomes, m.outcomes = state.Encode(outcomes), outcomes
	now.Waits, now.Finish = m.waits(), m.finish(now.Spent, r.clock.Now())
	return now, nil
}

// without is the state once some points have failed because no run of them may be made.
func (m *matrix) without(now *state.State, unfit map[int]error) *state.State {
	now, m.outcomes = now.Clone(), slices.Clone(m.outcomes)
	for _, i := range slices.Sorted(maps.Keys(unfit)) {
		m.outcomes[i] = state.Failed
		now.Note("point %d was changed after it was compiled, so no run of it is made: %v", i+1, unfit[i])
	}
	now.Counts, now.Outcomes = m.counts(m.outcomes), state.Encode(m.outcomes)
	return now
}

// note adds up what a run took, and says what a person should know of its end.
func (m *matrix) note(now *state.State, i int, o state.Outcome) {
	if o == state.Deleted {
		now.Note("run %s was deleted before its end; it counts as deleted and is not made again", m.child(i))
	}
	c := m.children[i]
	if c == nil || m.about == nil || o.Verdict() == "" {
		return
	}
	lane := m.about(i).lane
	spent := now.Spent[lane]
	spent.Runs, spent.Seconds = spent.Runs+1, spent.Seconds+c.seconds()
	now.Spent[lane] = spent
}

// write writes the state where it says something new: at once when a run has ended, else now and then. later is when to
// try again.
func (r *Reconciler) write(ctx context.Context, m *matrix, now *state.State) (later time.Duration, err error) {
	a, b := m.was.Clone(), now.Clone()
	a.Finish, b.Finish = time.Time{}, time.Time{} // a guess that moves is no news
	if len(a.Spent) == 0 {
		a.Spent = b.Spent
	}
	if reflect.DeepEqual(a, b) {
		return 0, nil
	}
	r.mu.Lock()
	since := r.clock.Since(r.wrote[m.UID])
	r.mu.Unlock()
	if since < countsWriteInterval && !urgent(m.was, now) {
		return countsWriteInterval - since, nil
	}
	err = r.status(ctx, m.CustomRun, now, func(s *tektonv1beta1.CustomRunStatus) {
		s.InitializeConditions()
		s.MarkCustomRunRunning(tektonv1beta1.CustomRunReasonRunning.String(), "%s", now.Sentence(r.clock.Now()))
	})
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	r.wrote[m.UID] = r.clock.Now()
	r.mu.Unlock()
	m.was = now
	return 0, nil
}

// urgent says whether something has ended: until that is written, runs are held.
func urgent(was, now *state.State) bool {
	return was.Counts.Ended() != now.Counts.Ended() || was.Stopped != now.Stopped || was.Outcomes == ""
}

func (r *Reconciler) status(ctx context.Context, cr *tektonv1beta1.CustomRun, now *state.State,
	edit func(*tektonv1beta1.CustomRunStatus)) error {
	before := client.MergeFromWithOptions(cr.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if now != nil {
		text, err := json.Marshal(now)
		if err != nil {
			return fmt.Errorf("encoding the state: %w", err)
		}
		cr.Status.ExtraFields.Raw = text
	}
	edit(&cr.Status)
	if err := r.client.Status().Patch(ctx, cr, before); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return nil
}

// refuse ends a matrix of which nothing can be made.
func (r *Reconciler) refuse(ctx context.Context, cr *tektonv1beta1.CustomRun, cause error) error {
	err := r.status(ctx, cr, nil, func(s *tektonv1beta1.CustomRunStatus) {
		s.InitializeConditions()
		s.MarkCustomRunFailed("InvalidMatrix", "%v", cause)
	})
	if err != nil {
		return err
	}
	return r.close(ctx, cr, nil)
}

func (m *matrix) child(i int) string { return m.name(i) }

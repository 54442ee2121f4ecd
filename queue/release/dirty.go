package release

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/queue/gc"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// dirtyTargetInterval is how often a dirty target is looked at: what is stuck there sends no event that one could
// wait for.
const dirtyTargetInterval = 30 * time.Second

// marks are what is written down at a target of runs that were released by force.
type marks struct {
	dirty []string // namespace/run: it may hold devices
	owed  []string // namespace/name: a Secret that its token is bound to
}

func marksOf(flavor *kueue.ResourceFlavor) marks {
	entries := func(key string) []string {
		return strings.FieldsFunc(flavor.Annotations[key], func(r rune) bool { return r == ',' })
	}
	return marks{dirty: entries(contract.AnnotationDirty), owed: entries(contract.AnnotationOwed)}
}

// write changes the marks of a target.
func (m marks) write(ctx context.Context, c client.Client, flavor *kueue.ResourceFlavor) error {
	before := client.MergeFromWithOptions(flavor.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if flavor.Annotations == nil {
		flavor.Annotations = map[string]string{}
	}
	for key, entries := range map[string][]string{contract.AnnotationDirty: m.dirty, contract.AnnotationOwed: m.owed} {
		slices.Sort(entries)
		flavor.Annotations[key] = strings.Join(slices.Compact(entries), ",")
		if len(entries) == 0 {
			delete(flavor.Annotations, key)
		}
	}
	if err := c.Patch(ctx, flavor, before); err != nil {
		return fmt.Errorf("marking target %q: %w", flavor.Name, err)
	}
	return nil
}

// markDirty names the run on its target.
func (r *Reconciler) markDirty(ctx context.Context, t target.Target, pr *tektonv1.PipelineRun) error {
	return r.mark(ctx, t, pr, nil)
}

// recordOwedToken names the run on its target, and what its token there is bound to. It ends with its life alone
// where the target has been removed.
func (r *Reconciler) recordOwedToken(ctx context.Context, t target.Target, pr *tektonv1.PipelineRun) error {
	return r.mark(ctx, t, pr, []string{pr.Namespace + "/" + contract.GrantSecret(string(pr.UID))})
}

func (r *Reconciler) mark(ctx context.Context, t target.Target, pr *tektonv1.PipelineRun, owed []string) error {
	flavor := &kueue.ResourceFlavor{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: t.Name}, flavor); err != nil {
		return client.IgnoreNotFound(err)
	}
	m, entry := marksOf(flavor), pr.Namespace+"/"+run.ID(pr)
	if slices.Contains(m.dirty, entry) && !slices.ContainsFunc(owed,
		func(o string) bool { return !slices.Contains(m.owed, o) }) {
		return nil
	}
	m.dirty, m.owed = append(m.dirty, entry), append(m.owed, owed...)
	return m.write(ctx, r.client, flavor)
}

// Sweeper cleans dirty targets: it ends the tokens that are owed there, deletes what is left of the runs that are named
// there, and takes a name away when nothing of its run may hold a device, nor make what does.
type Sweeper struct {
	client client.Client // reads from caches
	live   client.Reader // reads past them
	opts   Options
}

// NewSweeper makes the reconciler of ResourceFlavors.
func NewSweeper(c client.Client, live client.Reader, opts Options) *Sweeper {
	return &Sweeper{client: c, live: live, opts: opts}
}

// Reconcile looks at one target.
func (s *Sweeper) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	flavor := &kueue.ResourceFlavor{}
	if err := s.client.Get(ctx, req.NamespacedName, flavor); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	t, err := s.opts.Targets.Find(flavor.Name)
	if err != nil {
		return ctrl.Result{}, nil // a flavor that is no target of ours
	}
	was := marksOf(flavor)
	var now marks
	for _, entry := range was.owed {
		if !s.endOwedToken(ctx, t, entry) {
			now.owed = append(now.owed, entry)
		}
	}
	for _, entry := range was.dirty {
		if s.dirty(ctx, t, entry) || len(now.owed) > 0 {
			now.dirty = append(now.dirty, entry)
		}
	}
	s.opts.Metrics.TargetDirty.WithLabelValues(t.Name).Set(float64(min(1, len(now.dirty))))
	if len(now.dirty) < len(was.dirty) || len(now.owed) < len(was.owed) {
		if err := now.write(ctx, s.client, flavor); err != nil {
			return ctrl.Result{}, err
		}
	}
	if len(now.dirty)+len(now.owed) > 0 {
		return ctrl.Result{RequeueAfter: dirtyTargetInterval}, nil
	}
	return ctrl.Result{}, nil
}

// endOwedToken ends a token that is owed, and says whether it could.
func (s *Sweeper) endOwedToken(ctx context.Context, t target.Target, entry string) bool {
	namespace, name, _ := strings.Cut(entry, "/")
	uid, ok := strings.CutPrefix(name, contract.GrantSecret(""))
	if !ok {
		return true // nothing that we have written
	}
	if err := t.Revoke(ctx, namespace, types.UID(uid)); err != nil && !s.gone(ctx, t, namespace, err) {
		s.opts.Log.Warn("ending the token of a run that was released by force", "target", t.Name, "namespace", namespace,
			"error", err.Error())
		return false
	}
	t.Forget(types.UID(uid))
	return true
}

// dirty says whether something of a run may still hold a device, or be made, after it has told it to go. A target that
// does not answer stays dirty; when it does again, it is looked at.
func (s *Sweeper) dirty(ctx context.Context, t target.Target, entry string) bool {
	namespace, id, ok := strings.Cut(entry, "/")
	if !ok {
		return true // a person's own mark stays until the person takes it away
	}
	works, err := s.hasWorkers(ctx, t, namespace, id)
	if err != nil {
		s.opts.Log.Warn("cleaning a dirty target", "target", t.Name, "run", id, "error", err.Error())
	}
	if works || err != nil {
		return true
	}
	left, err := gc.List(ctx, t.Live, t.Name, s.opts.Hub, namespace, gc.ByRun(id))
	if err == nil {
		err = gc.Delete(ctx, t.Live, left, func(o gc.Object) {
			s.opts.Metrics.Leftovers.WithLabelValues(t.Name, o.Kind).Inc()
			s.opts.Log.Info("deleted what a run had left", "namespace", namespace, "run", id, "target", t.Name, "object",
				o.String())
		})
	}
	switch {
	case err == nil:
		return gc.MayHoldDevices(left)
	case s.gone(ctx, t, namespace, err):
		return false
	}
	s.opts.Log.Warn("cleaning a dirty target", "target", t.Name, "run", id, "error", err.Error())
	return true
}

// hasWorkers says whether somebody may make something for a run on a target: it is not released yet, or a pod of one
// of its tasks is there, be it on a node that does not answer.
func (s *Sweeper) hasWorkers(ctx context.Context, t target.Target, namespace, id string) (bool, error) {
	var runs tektonv1.PipelineRunList
	if err := s.client.List(ctx, &runs, client.InNamespace(namespace), client.MatchingFields{run.IndexID: id},
		client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing the attempts of run %q: %w", id, err)
	}
	for i := range runs.Items {
		if pr := &runs.Items[i]; run.Ours(pr) && run.Holding(pr) && run.Target(pr) == t.Name {
			return true, nil
		}
	}
	var pods corev1.PodList
	if err := s.live.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{contract.LabelRun: id},
		client.HasLabels{pipeline.TaskRunLabelKey}); err != nil {
		return false, fmt.Errorf("listing the task pods of run %q: %w", id, err)
	}
	return slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return !ended(&p) }), nil
}

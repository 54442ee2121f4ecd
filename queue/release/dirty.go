package release

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/queue/leftover"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/tasks/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// sweepAgain is how often a dirty target is looked at: what is stuck there sends no event that one could wait for.
const sweepAgain = 30 * time.Second

// markDirty names the run on its target.
func (r *Reconciler) markDirty(ctx context.Context, t target.Target, pr *tektonv1.PipelineRun) error {
	flavor := &kueue.ResourceFlavor{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: t.Name}, flavor); err != nil {
		return client.IgnoreNotFound(err)
	}
	entries := dirtyRuns(flavor)
	entry := pr.Namespace + "/" + run.ID(pr)
	if slices.Contains(entries, entry) {
		return nil
	}
	return writeDirty(ctx, r.client, flavor, append(entries, entry))
}

func dirtyRuns(flavor *kueue.ResourceFlavor) []string {
	return strings.FieldsFunc(flavor.Annotations[contract.AnnotationDirty], func(r rune) bool { return r == ',' })
}

func writeDirty(ctx context.Context, c client.Client, flavor *kueue.ResourceFlavor, entries []string) error {
	before := client.MergeFromWithOptions(flavor.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if flavor.Annotations == nil {
		flavor.Annotations = map[string]string{}
	}
	slices.Sort(entries)
	flavor.Annotations[contract.AnnotationDirty] = strings.Join(entries, ",")
	if len(entries) == 0 {
		delete(flavor.Annotations, contract.AnnotationDirty)
	}
	if err := c.Patch(ctx, flavor, before); err != nil {
		return fmt.Errorf("marking target %q: %w", flavor.Name, err)
	}
	return nil
}

// Sweeper cleans dirty targets: it deletes what is left of the runs that are named there, and takes a name away when
// nothing of its run may hold a device.
type Sweeper struct {
	client client.Client
	opts   Options
}

// NewSweeper makes the reconciler of ResourceFlavors.
func NewSweeper(c client.Client, opts Options) *Sweeper { return &Sweeper{client: c, opts: opts} }

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
	marked := dirtyRuns(flavor)
	var dirty []string
	for _, entry := range marked {
		if s.dirty(ctx, t, entry) {
			dirty = append(dirty, entry)
		}
	}
	s.opts.Metrics.TargetDirty.WithLabelValues(t.Name).Set(float64(min(1, len(dirty))))
	if len(dirty) < len(marked) {
		if err := writeDirty(ctx, s.client, flavor, dirty); err != nil {
			return ctrl.Result{}, err
		}
	}
	if len(dirty) > 0 {
		return ctrl.Result{RequeueAfter: sweepAgain}, nil
	}
	return ctrl.Result{}, nil
}

// dirty says whether something of a run may still hold a device, after it has told it to go. A target that does not
// answer stays dirty; when it does again, it is looked at.
func (s *Sweeper) dirty(ctx context.Context, t target.Target, entry string) bool {
	namespace, id, ok := strings.Cut(entry, "/")
	if !ok {
		return true // a person's own mark stays until the person takes it away
	}
	left, err := leftover.List(ctx, t.Live, t.Name, s.opts.Hub, namespace, leftover.ByRun(id))
	if err == nil {
		err = leftover.Delete(ctx, t.Live, left, func(o leftover.Object) {
			s.opts.Metrics.Leftovers.WithLabelValues(t.Name, o.Kind).Inc()
			s.opts.Log.Info("deleted what a run had left", "namespace", namespace, "run", id, "target", t.Name, "object", o.String())
		})
	}
	if err != nil {
		s.opts.Log.Warn("cleaning a dirty target", "target", t.Name, "run", id, "error", err.Error())
		return true
	}
	return leftover.Holding(left)
}

package release

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/queue/metrics"
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

// Sweeper cleans the marks of dirty targets: an entry goes when nothing of its run holds a device.
type Sweeper struct {
	client  client.Client
	targets *target.Registry
	metrics *metrics.Metrics
}

// NewSweeper makes the reconciler of ResourceFlavors.
func NewSweeper(c client.Client, opts Options) *Sweeper {
	return &Sweeper{client: c, targets: opts.Targets, metrics: opts.Metrics}
}

// Reconcile looks at one target.
func (s *Sweeper) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	flavor := &kueue.ResourceFlavor{}
	if err := s.client.Get(ctx, req.NamespacedName, flavor); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	t, err := s.targets.Find(flavor.Name)
	if err != nil {
		return ctrl.Result{}, nil // a flavor that is no target of ours
	}
	marked := dirtyRuns(flavor)
	dirty, err := stillDirty(ctx, t, marked)
	if err != nil {
		return ctrl.Result{}, err
	}
	gauge := s.metrics.TargetDirty.WithLabelValues(t.Name)
	gauge.Set(float64(min(1, len(dirty))))
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

func stillDirty(ctx context.Context, t target.Target, marked []string) ([]string, error) {
	var dirty []string
	for _, entry := range marked {
		namespace, id, ok := strings.Cut(entry, "/")
		if !ok {
			dirty = append(dirty, entry) // a person's own mark stays until the person takes it away
			continue
		}
		left, err := leftOf(ctx, t, namespace, id)
		if err != nil {
			return nil, err
		}
		if holding(left) {
			dirty = append(dirty, entry)
		}
	}
	return dirty, nil
}

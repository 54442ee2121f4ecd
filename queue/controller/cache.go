package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// cacheOptions keep the memory small: of PipelineRuns and TaskRuns only ours, and of each object only what some
// reconciler reads. What decides about a quota is read past the cache anyway. What not every run needs is not here,
// but in caches of its own: one that is not filled holds up all who read from it.
func cacheOptions() cache.Options {
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&tektonv1.PipelineRun{}: {Label: ours(), Transform: slimRun},
			&tektonv1.TaskRun{}:     {Label: ours(), Transform: slimTask},
			&corev1.Pod{}:           {Label: ours(), Transform: slimPod},
			&kueue.Workload{}:       {Transform: slimWorkload},
		},
	}
}

// startInformers has the cache of the manager watch, from its start, all kinds that every run needs: the process is
// ready once it knows them, whether or not this replica leads, and says which it cannot read.
func startInformers(ctx context.Context, all cache.Cache) error {
	for _, kind := range []client.Object{
		&corev1.Namespace{}, &corev1.Pod{}, &schedulingv1.PriorityClass{}, &tektonv1.PipelineRun{}, &tektonv1.TaskRun{},
		&kueue.AdmissionCheck{},
		&kueue.ClusterQueue{}, &kueue.LocalQueue{}, &kueue.ResourceFlavor{}, &kueue.Workload{},
		&kueue.WorkloadPriorityClass{},
	} {
		if _, err := all.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("watching %T: %w", kind, err)
		}
	}
	return nil
}

// newClient makes the client of the manager, which finds nothing in other namespaces than those of runs.
func newClient(config *rest.Config, options client.Options) (client.Client, error) {
	options.Cache.Reader = watch.OnlyRunNamespaces(options.Cache.Reader)
	return client.New(config, options)
}

func ours() labels.Selector { return having(contract.LabelPlanHash) }

func having(label string) labels.Selector {
	has, _ := labels.NewRequirement(label, selection.Exists, nil)
	return labels.NewSelector().Add(*has)
}

// filling is the filling of caches: how long it may take, and what keeps it.
type filling struct {
	limit time.Duration
	end   context.CancelCauseFunc // of the process
	life  context.Context         // likewise

	mu      sync.Mutex
	filled  bool
	refused map[string]error // by kind: why it could not be read when it was last tried
}

// failed notes why a kind could not be read. It is tried again, after half a minute at the latest.
func (f *filling) failed(ctx context.Context, r *toolscache.Reflector, err error) {
	f.mu.Lock()
	f.refused[strings.TrimPrefix(r.TypeDescription(), "*")] = err
	f.mu.Unlock()
	toolscache.DefaultWatchErrorHandler(ctx, r, err)
}

// missing says that the caches are not filled, and what is known of why; nil once they are.
func (f *filling) missing() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.filled {
		return nil
	}
	var why []string
	for kind, err := range f.refused {
		why = append(why, fmt.Sprintf("%s: %v", kind, err))
	}
	slices.Sort(why)
	if len(why) == 0 {
		return errors.New("the caches are not filled yet")
	}
	return fmt.Errorf("the caches are not filled yet: %s", strings.Join(why, "; "))
}

// alive says why the process is about to end, nil when it is not.
func (f *filling) alive(*http.Request) error { return context.Cause(f.life) }

func (f *filling) ready(*http.Request) error { return f.missing() }

// newCache makes the cache of the manager.
func (f *filling) newCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	options.DefaultWatchErrorHandler = f.failed
	made, err := cache.New(config, options)
	return bounded{made, f}, err
}

// bounded is a cache that is waited for until it is filled, its time is over, or the process is to end.
type bounded struct {
	cache.Cache
	*filling
}

// WaitForCacheSync is true also for a process that ends: a manager that is told to end waits for this answer first,
// in a loop that asks nobody anything.
func (b bounded) WaitForCacheSync(asked context.Context) bool {
	ctx, cancel := context.WithTimeout(asked, b.limit)
	defer cancel()
	defer context.AfterFunc(b.life, cancel)()
	filled := b.Cache.WaitForCacheSync(ctx)
	switch {
	case filled:
		b.mu.Lock()
		b.filled = true
		b.mu.Unlock()
	case asked.Err() != nil:
		return false
	case b.life.Err() == nil:
		b.end(fmt.Errorf("waiting for %s: %w; grant what is refused or install what is missing, and it starts again", b.limit,
			b.missing()))
	}
	return filled || b.life.Err() != nil
}

package watch

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// CacheSyncTimeout is how long a controller waits for a cache of its own: for ever. One that gave up would end the
// process, though nobody but those who need what cannot be read has to wait for it.
const CacheSyncTimeout = 10 * 365 * 24 * time.Hour

// NewCache makes a cache beside that of the manager, which holds each kind by one label only and which all runs wait
// for. It holds what carries the labels, in all namespaces: PipelineRuns and TaskRuns that are ours but no runs of
// bflow, and what only some runs need. The manager starts it.
func NewCache(mgr ctrl.Manager, of labels.Set) (cache.Cache, error) {
	made, err := cache.New(mgr.GetConfig(), cache.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		HTTPClient:           mgr.GetHTTPClient(),
		DefaultLabelSelector: labels.SelectorFromSet(of), DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		return nil, err
	}
	return made, mgr.Add(made)
}

// Package apart creates caches in addition to the manager's cache, which selects each kind by one label only and
// which all runs wait for: PipelineRuns and TaskRuns of bflow that are not runs, and objects that only some runs
// need. It must not know what they are watched for.
package apart

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// Forever is how long a controller waits for such a cache. One that gave up would end the process, though nobody but those
// who need what cannot be read has to wait for it.
const Forever = 10 * 365 * 24 * time.Hour

// Cache holds what carries the labels, in all namespaces. The manager starts it.
func Cache(mgr ctrl.Manager, of labels.Set) (cache.Cache, error) {
	made, err := cache.New(mgr.GetConfig(), cache.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
		DefaultLabelSelector: labels.SelectorFromSet(of), DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		return nil, err
	}
	return made, mgr.Add(made)
}

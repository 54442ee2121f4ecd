// Package apart makes caches beside that of the manager, which holds each kind by one label only: PipelineRuns and
// TaskRuns that are no runs of bflow, but ours. It must not know what they are watched for.
package apart

import (
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// Cache holds what carries the labels, in namespaces or, without any, in all. The manager starts it.
func Cache(mgr ctrl.Manager, namespaces []string, of labels.Set) (cache.Cache, error) {
	options := cache.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
		DefaultLabelSelector: labels.SelectorFromSet(of), DefaultTransform: cache.TransformStripManagedFields()}
	if len(namespaces) > 0 {
		options.DefaultNamespaces = map[string]cache.Config{}
		for _, name := range namespaces {
			options.DefaultNamespaces[name] = cache.Config{}
		}
	}
	made, err := cache.New(mgr.GetConfig(), options)
	if err != nil {
		return nil, err
	}
	return made, mgr.Add(made)
}

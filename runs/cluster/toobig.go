package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"bflow.dev/bflow/internal/kube"
	queuerun "bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	"k8s.io/apimachinery/pkg/api/resource"
)

// TooBig says which runs ask for more than their queue has in all, a sentence for each queue and resource: they wait
// until there is more. Who may not look at queues hears nothing.
func (c *Cluster) TooBig(ctx context.Context, runs []*Run) []string {
	quotas := map[string]map[string]resource.Quantity{}
	var out []string
	for _, r := range runs {
		queue := queuerun.Queue(r.Last())
		if queue == "" {
			continue
		}
		quota, known := quotas[queue]
		if !known {
			quota = quotaOf(ctx, c.api, r.Namespace, queue)
			quotas[queue] = quota
		}
		var asked map[string]resource.Quantity
		if quota == nil || json.Unmarshal([]byte(r.Last().Annotations[contract.AnnotationRequests]), &asked) != nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(asked)) {
			want, have := asked[name], quota[name]
			if want.Cmp(have) <= 0 {
				continue
			}
			text := fmt.Sprintf(
				"queue %q has %s %s in total, but the run requests %s; until the quota is raised, other runs may pass it", queue,
				have.String(), name, want.String())
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

// quotaOf is what the queue of a namespace may promise at most, nil where that cannot be known.
func quotaOf(ctx context.Context, api *kube.Client, namespace, name string) map[string]resource.Quantity {
	local, err := kube.Get[struct {
		Spec struct{ ClusterQueue string }
	}](ctx, api, kube.Kueue("localqueues", namespace, name))
	if err != nil || local.Spec.ClusterQueue == "" {
		return nil
	}
	queue, err := kube.Get[clusterQueue](ctx, api, kube.Kueue("clusterqueues", "", local.Spec.ClusterQueue))
	if err != nil || queue.Spec.CohortName != "" || len(queue.Spec.ResourceGroups) == 0 {
		return nil
	}
	most := map[string]resource.Quantity{}
	for _, group := range queue.Spec.ResourceGroups {
		for _, flavor := range group.Flavors {
			for _, r := range flavor.Resources {
				if have := most[r.Name]; r.NominalQuota.Cmp(have) > 0 { // a run gets one flavor
					most[r.Name] = r.NominalQuota
				}
			}
		}
	}
	return most
}

// clusterQueue is as much of Kueue's ClusterQueue as tells what it may promise.
type clusterQueue struct {
	Spec struct {
		CohortName     string
		ResourceGroups []struct {
			Flavors []struct {
				Resources []struct {
					Name         string
					NominalQuota resource.Quantity
				}
			}
		}
	}
}

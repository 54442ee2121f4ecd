package plan

import (
	"strconv"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// queueOf is what a plan asks of its queue: a slot, and the devices of all its pods.
func (p *point) queueOf(q *spec.Queue, cluster spec.ClusterAt, plan *runplan.RunPlan) (runplan.Queue, error) {
	if q == nil {
		q = &spec.Queue{}
	}
	where, err := p.platforms.Of(&plan.Deployment)
	if err != nil {
		return runplan.Queue{}, err
	}
	out := runplan.Queue{
		Name:     orElse(q.Name, orElse(cluster.Queue, plan.Target.Name)),
		Priority: q.Priority, Isolation: orElse(q.Isolation, "shared"), SetupKey: where.SetupKey(&plan.Deployment),
		Requests: map[string]string{contract.ResourceSlot: "1"},
	}
	if out.Isolation == "exclusive" {
		out.Requests[contract.ResourceSlot] = strconv.Itoa(contract.TargetSlots)
	}
	if !plan.Execution.Phases.Deploy {
		return out, nil
	}
	devices, err := where.Requests(&plan.Deployment)
	for name, n := range devices {
		out.Requests[name] = strconv.Itoa(n)
	}
	return out, err
}

// targetOf is the cluster of a plan: the entry of target_clusters, else target_cluster, else the own one. Of several
// the controller chooses when the run is queued.
func targetOf(s *spec.ExperimentSpec, cluster spec.ClusterAt, namespace string) runplan.Target {
	t := runplan.Target{
		Name: "local", Namespace: orElse(cluster.Namespace, namespace),
		ServiceAccount: orElse(s.ServiceAccount, contract.AccountRunner),
		HostAliases:    s.TargetCluster.HostAliases,
	}
	switch {
	case cluster.Name == "local":
		t.HostAliases = cluster.HostAliases
	case cluster.Name != "":
		t.Name, t.KubeconfigSecret = cluster.Name, orElse(cluster.KubeconfigSecret, cluster.Name)
		t.HostAliases = cluster.HostAliases
	case len(s.TargetCluster.AnyOf) == 1 && len(s.TargetCluster.Selector) == 0:
		t.Name = s.TargetCluster.AnyOf[0]
	case len(s.TargetCluster.AnyOf) > 0 || len(s.TargetCluster.Selector) > 0:
		t.Name, t.AnyOf, t.Selector = contract.TargetAny, s.TargetCluster.AnyOf, s.TargetCluster.Selector
	case s.TargetCluster.KubeconfigSecret != "":
		t.Name, t.KubeconfigSecret = s.TargetCluster.KubeconfigSecret, s.TargetCluster.KubeconfigSecret
	}
	return t
}

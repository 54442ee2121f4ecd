package capacity

import (
	"cmp"
	"slices"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

const maxCovered = 64 // resources of one group, by Kueue's rules

// Groups returns the resource groups of a queue with one flavor: slots, and every device and product of quota. What
// the queue covered before stays, with a quota of 0, because Kueue would lose count of runs that hold it and refuse
// those that wait for it; when there are too many resources, such ones go first.
func Groups(before []kueue.ResourceGroup, flavor string, quota devices.Amounts) []kueue.ResourceGroup {
	resources := []kueue.ResourceQuota{amount(contract.ResourceSlot, contract.TargetSlots)}
	for _, name := range covered(before, quota) {
		resources = append(resources, amount(name, quota[name]))
	}
	group := kueue.ResourceGroup{Flavors: []kueue.FlavorQuotas{
		{Name: kueue.ResourceFlavorReference(flavor), Resources: resources}}}
	for _, r := range resources { // every flavor lists its resources in this very order
		group.CoveredResources = append(group.CoveredResources, r.Name)
	}
	return []kueue.ResourceGroup{group}
}

// covered lists the resources beside the slots, by name.
func covered(before []kueue.ResourceGroup, quota devices.Amounts) []string {
	all := map[string]bool{}
	for name := range quota {
		all[name] = true
	}
	for _, group := range before {
		for _, name := range group.CoveredResources {
			all[string(name)] = true
		}
	}
	delete(all, contract.ResourceSlot)
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a, quota), rank(b, quota)), cmp.Compare(a, b))
	})
	names = names[:min(len(names), maxCovered-1)]
	slices.Sort(names)
	return names
}

// rank is the order in which resources are kept: what is there, what is known to be there at times, what was there.
func rank(name string, quota devices.Amounts) int {
	switch count, known := quota[name]; {
	case count > 0:
		return 0
	case known:
		return 1
	default:
		return 2
	}
}

func amount(name string, count int64) kueue.ResourceQuota {
	return kueue.ResourceQuota{Name: corev1.ResourceName(name),
		NominalQuota: *resource.NewQuantity(count, resource.DecimalSI)}
}

// Promised is what groups promise, by resource: for a sentence about a change.
func Promised(groups []kueue.ResourceGroup) devices.Amounts {
	out := devices.Amounts{}
	for _, group := range groups {
		for _, flavor := range group.Flavors {
			for _, r := range flavor.Resources {
				out[string(r.Name)] += r.NominalQuota.Value()
			}
		}
	}
	return out
}

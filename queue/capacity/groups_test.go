package capacity

import (
	"fmt"
	"testing"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/runplan/contract"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

const (
	gpu  = "nvidia.com/gpu"
	h100 = "bflow.dev/gpu-h100"
)

func TestGroups(t *testing.T) {
	before := Groups(nil, "local", devices.Amounts{gpu: 8, h100: 8})
	for _, row := range []struct {
		name   string
		before []kueue.ResourceGroup
		quota  devices.Amounts
		want   devices.Amounts
	}{
		{"a target without devices has its slots", nil, nil, devices.Amounts{contract.ResourceSlot: 100}},
		{"devices and products beside them", nil, devices.Amounts{gpu: 8, h100: 8},
			devices.Amounts{contract.ResourceSlot: 100, gpu: 8, h100: 8}},
		{"what was covered stays, at 0", before, devices.Amounts{"amd.com/gpu": 4},
			devices.Amounts{contract.ResourceSlot: 100, gpu: 0, h100: 0, "amd.com/gpu": 4}},
		{"what a person added stays, at 0", []kueue.ResourceGroup{{CoveredResources: []corev1.ResourceName{"cpu"}}},
			devices.Amounts{gpu: 1}, devices.Amounts{contract.ResourceSlot: 100, "cpu": 0, gpu: 1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := Groups(row.before, "local", row.quota)
			if diff := cmp.Diff(row.want, Promised(got)); diff != "" {
				t.Errorf("promised (-want +got):\n%s", diff)
			}
			obeysKueue(t, got)
			if diff := cmp.Diff(got, Groups(got, "local", row.quota)); diff != "" {
				t.Errorf("the second time is no change:\n%s", diff)
			}
		})
	}
}

func TestTooManyResources(t *testing.T) {
	old, quota := devices.Amounts{}, devices.Amounts{"nvidia.com/mig-zero": 0}
	for i := range 60 {
		old[fmt.Sprintf("nvidia.com/mig-a%02d", i)] = 1
	}
	for i := range 10 {
		quota[fmt.Sprintf("nvidia.com/mig-z%02d", i)] = 1
	}
	got := Groups(Groups(nil, "local", old), "local", quota)
	obeysKueue(t, got)
	promised := Promised(got)
	for name := range quota {
		if _, ok := promised[name]; !ok {
			t.Errorf("%s is there and not covered", name)
		}
	}
}

// obeysKueue checks the rules of a ClusterQueue that its schema and its webhook have.
func obeysKueue(t *testing.T, groups []kueue.ResourceGroup) {
	t.Helper()
	for _, g := range groups {
		if len(g.CoveredResources) == 0 || len(g.CoveredResources) > maxCovered {
			t.Errorf("a group covers %d resources", len(g.CoveredResources))
		}
		for _, f := range g.Flavors {
			if len(f.Resources) != len(g.CoveredResources) {
				t.Fatalf("flavor %s has %d of %d resources", f.Name, len(f.Resources), len(g.CoveredResources))
			}
			for i, r := range f.Resources {
				if r.Name != g.CoveredResources[i] {
					t.Errorf("flavor %s has %s where the group has %s: the order must be the same", f.Name, r.Name,
						g.CoveredResources[i])
				}
			}
		}
	}
}

package devices_test

import (
	"math/rand/v2"
	"testing"

	"bflow.dev/bflow/queue/devices"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	h100  = "NVIDIA-H100-80GB-HBM3"
	qH100 = "bflow.dev/gpu-h100-80gb-hbm3"
	qL40  = "bflow.dev/gpu-l40s"
)

func TestWhatAClusterHas(t *testing.T) {
	rows := []struct {
		name   string
		nodes  []corev1.Node
		slices []resourcev1.ResourceSlice
		want   devices.Amounts
	}{
		{name: "a cluster without accelerators has none",
			nodes: []corev1.Node{makeNode("a", offers("rdma/hca", 4), offers("nvidia.com/mofed", 1))}, want: amounts()},
		{name: "whole NVIDIA GPUs count by resource and by product",
			nodes: []corev1.Node{makeNode("a", offers(gpu, 8), label(gpu+".product", h100)),
				makeNode("b", offers(gpu, 4), label(gpu+".product", "NVIDIA-L40S"))},
			want: amounts(gpu, 12, qH100, 8, "bflow.dev/gpu-l40s", 4)},
		{name: "without feature discovery a GPU has no product",
			nodes: []corev1.Node{makeNode("a", offers(gpu, 2))}, want: amounts(gpu, 2)},
		{name: "a managed cluster names the product in its own label",
			nodes: []corev1.Node{makeNode("a", offers(gpu, 2), label("cloud.google.com/gke-accelerator", "nvidia-h100-80gb"))},
			want:  amounts(gpu, 2, "bflow.dev/gpu-h100-80gb", 2)},
		{name: "MIG with the single strategy keeps the resource and changes the product",
			nodes: []corev1.Node{makeNode("a", offers(gpu, 56), label(gpu+".product", h100+"-MIG-1g.10gb"))},
			want:  amounts(gpu, 56, qH100+"-mig-1g.10gb", 56)},
		{name: "MIG with the mixed strategy has a resource for each profile",
			nodes: []corev1.Node{makeNode("a", offers(gpu, 4), offers("nvidia.com/mig-1g.10gb", 14),
				offers("nvidia.com/mig-3g.40gb", 4),
				label(gpu+".product", h100), label("nvidia.com/mig-1g.10gb.product", h100+"-MIG-1g.10gb"),
				label("nvidia.com/mig-3g.40gb.product", h100+"-MIG-3g.40gb"))},
			want: amounts(gpu, 4, qH100, 4, "nvidia.com/mig-1g.10gb", 14, qH100+"-mig-1g.10gb", 14, "nvidia.com/mig-3g.40gb", 4,
				qH100+"-mig-3g.40gb", 4)},
		{name: "AMD GPUs and partitions of them",
			nodes: []corev1.Node{makeNode("a", offers("amd.com/gpu", 8),
				label("amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM")), makeNode("b", offers("amd.com/cpx_nps4", 64))},
			want: amounts("amd.com/gpu", 8, "bflow.dev/gpu-instinct-mi300x-oam", 8, "amd.com/cpx_nps4", 64)},
		{name: "Gaudi", nodes: []corev1.Node{makeNode("a", offers("habana.ai/gaudi", 8))},
			want: amounts("habana.ai/gaudi", 8, "bflow.dev/gpu-gaudi", 8)},
		{name: "dynamic resource allocation counts devices by driver and type",
			nodes: []corev1.Node{makeNode("a")},
			slices: []resourcev1.ResourceSlice{slice("a", "gpu.nvidia.com", 1, 1,
				device("gpu-0", "type", "gpu", "productName", "NVIDIA H100 80GB HBM3"),
				device("gpu-1", "gpu.nvidia.com/type", "gpu", "gpu.nvidia.com/productName", "NVIDIA H100 80GB HBM3"))},
			want: amounts("gpu.nvidia.com/gpu", 2, qH100, 2)},
		{name: "slices of an older generation, of an unfinished pool and of network drivers do not count",
			nodes: []corev1.Node{makeNode("a"), makeNode("b")},
			slices: []resourcev1.ResourceSlice{
				slice("a", "gpu.nvidia.com", 1, 1, device("gpu-0", "type", "gpu"), device("gpu-1", "type", "gpu")),
				slice("a", "gpu.nvidia.com", 2, 1, device("gpu-0", "type", "gpu")),
				slice("b", "gpu.nvidia.com", 7, 2, device("gpu-0", "type", "gpu")),
				slice("a", "dra.net", 1, 1, device("eth0")),
			},
			want: amounts("gpu.nvidia.com/gpu", 1)},
		{name: "a slice of a card that is listed whole does not count beside it",
			nodes: []corev1.Node{makeNode("a")},
			slices: []resourcev1.ResourceSlice{slice("a", "gpu.nvidia.com", 1, 1,
				partitionable(device("gpu-0", "type", "gpu")), partitionable(
					device("gpu-0-mig-0", "type", "mig", "profile", "1g.10gb")))},
			want: amounts("gpu.nvidia.com/gpu", 1)},
		{name: "a tainted device does not count",
			nodes: []corev1.Node{makeNode("a")},
			slices: []resourcev1.ResourceSlice{slice("a", "gpu.amd.com", 1, 1, device("gpu-0", "type", "amdgpu"),
				taintedDevice(device("gpu-1", "type", "amdgpu")))},
			want: amounts("gpu.amd.com/amdgpu", 1)},
		{name: "a node that is cordoned, not ready or under pressure gives nothing, and its resources stay known",
			nodes: []corev1.Node{makeNode("a", offers(gpu, 8), cordoned), makeNode("b", offers("amd.com/gpu", 8), notReady),
				makeNode("c", offers("habana.ai/gaudi", 8), taint("node.kubernetes.io/disk-pressure",
					corev1.TaintEffectNoSchedule))},
			want: amounts(gpu, 0, "amd.com/gpu", 0, "habana.ai/gaudi", 0, "bflow.dev/gpu-gaudi", 0)},
		{name: "a taint that keeps a node for benchmarks is no loss",
			nodes: []corev1.Node{makeNode("a", offers(gpu, 8), taint("dedicated", corev1.TaintEffectNoSchedule),
				taint(gpu, corev1.TaintEffectNoSchedule))}, want: amounts(gpu, 8)},
		{name: "ill devices do not count, and a node of ill devices keeps the resource known",
			nodes: []corev1.Node{makeNode("a", offers(gpu, 8), ill(gpu, 1)),
				makeNode("b", offers("amd.com/gpu", 2), ill("amd.com/gpu", 2))}, want: amounts(gpu, 7, "amd.com/gpu", 0)},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			inv := devices.Of(row.nodes, row.slices)
			if diff := cmp.Diff(row.want, inv.Total()); diff != "" {
				t.Errorf("total (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.want, inv.Quota()); diff != "" {
				t.Errorf("nobody holds anything, so all is for the queue (-want +got):\n%s", diff)
			}
		})
	}
}

func partitionable(d resourcev1.Device) resourcev1.Device {
	d.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "gpu-0"}}
	return d
}

func taintedDevice(d resourcev1.Device) resourcev1.Device {
	d.Taints = []resourcev1.DeviceTaint{{Key: "x", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
	return d
}

func TestWhatAQueueMayPromise(t *testing.T) {
	node := makeNode("a", offers(gpu, 8), label(gpu+".product", h100))
	rows := []struct {
		name  string
		nodes []corev1.Node
		pods  []corev1.Pod
		want  devices.Amounts
	}{
		{"what others hold is taken away, by product too", []corev1.Node{node}, []corev1.Pod{makePod("a", gpu, 3)},
			amounts(gpu, 5, qH100, 5)},
		{"what our runs hold is not", []corev1.Node{node}, []corev1.Pod{makePod("a", gpu, 4, mine), makePod("a", gpu, 1)},
			amounts(gpu, 7, qH100, 7)},
		{"a pod that has ended holds nothing", []corev1.Node{node},
			[]corev1.Pod{makePod("a", gpu, 3, phase(corev1.PodSucceeded)), makePod("a", gpu, 3, phase(corev1.PodFailed))},
			amounts(gpu, 8, qH100, 8)},
		{"a pod that waits for a node holds nothing", []corev1.Node{node},
			[]corev1.Pod{makePod("", gpu, 3, phase(corev1.PodPending))}, amounts(gpu, 8, qH100, 8)},
		{"a pod that a node is being cleared for holds its devices", []corev1.Node{node},
			[]corev1.Pod{makePod("", gpu, 3, phase(corev1.PodPending),
				func(p *corev1.Pod) { p.Status.NominatedNodeName = "a" })}, amounts(gpu, 5, qH100, 5)},
		{"what we hold on a cordoned node stays promised, or other nodes would pay for it",
			[]corev1.Node{makeNode("a", offers(gpu, 8), cordoned), makeNode("b", offers(gpu, 8))},
			[]corev1.Pod{makePod("a", gpu, 4, mine), makePod("a", gpu, 2)}, amounts(gpu, 12)},
		{"others may hold more than there is when devices fall ill",
			[]corev1.Node{makeNode("a", offers(gpu, 8), ill(gpu, 6))}, []corev1.Pod{makePod("a", gpu, 4)}, amounts(gpu, 0)},
		{"devices that a node no longer offers are not held", []corev1.Node{node},
			[]corev1.Pod{makePod("a", "amd.com/gpu", 4)}, amounts(gpu, 8, qH100, 8)},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			inv := devices.Of(row.nodes, nil)
			inv.Hold(row.pods, nil, ours)
			if diff := cmp.Diff(row.want, inv.Quota()); diff != "" {
				t.Errorf("quota (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClaimsHoldDevicesOfTheirPods(t *testing.T) {
	inv := devices.Of([]corev1.Node{makeNode("a")}, []resourcev1.ResourceSlice{slice("a", "gpu.nvidia.com", 1, 1,
		device("gpu-0", "type", "gpu", "productName", h100), device("gpu-1", "type", "gpu", "productName", h100),
		device("gpu-2", "type", "gpu", "productName", h100))})
	pod := makePod("a", "cpu", 1, mine, func(p *corev1.Pod) { p.UID = types.UID("u1") })
	admin := true
	watching := claim("gpu.nvidia.com", "a", "gpu-2", "")
	watching.Status.Allocation.Devices.Results[0].AdminAccess = &admin
	inv.Hold([]corev1.Pod{pod}, []resourcev1.ResourceClaim{claim("gpu.nvidia.com", "a", "gpu-0", "u1"),
		claim("gpu.nvidia.com", "a", "gpu-1", "u2"), watching}, ours)
	one := amounts("gpu.nvidia.com/gpu", 1, qH100, 1)
	for name, got := range map[string]devices.Amounts{"ours": inv.Ours(), "foreign": inv.Foreign(), "free": inv.Free()} {
		if diff := cmp.Diff(one, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRunsOfTwoTeamsWithOneNameAreTwo(t *testing.T) {
	inv := devices.Of([]corev1.Node{makeNode("a", offers(gpu, 8))}, nil)
	of := func(namespace string) podOption { return func(p *corev1.Pod) { p.Namespace = namespace } }
	inv.Hold([]corev1.Pod{makePod("a", gpu, 4, mine, of("blue")), makePod("a", gpu, 2, mine, of("red"))}, nil, ours)
	name := makePod("a", gpu, 1, mine).Labels["run"]
	want := map[types.NamespacedName]devices.Amounts{
		{Namespace: "blue", Name: name}: amounts(gpu, 4), {Namespace: "red", Name: name}: amounts(gpu, 2),
	}
	if diff := cmp.Diff(want, inv.Held); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
}

func TestWhatARunHoldsWithoutARightIsLeakedAndForeign(t *testing.T) {
	inv := devices.Of([]corev1.Node{makeNode("a", offers(gpu, 8))}, nil)
	inv.Hold([]corev1.Pod{makePod("a", gpu, 2, mine), makePod("a", gpu, 3)}, nil,
		func(namespace string, labels map[string]string) devices.Holder {
			if ours(namespace, labels) != (devices.Holder{}) {
				return devices.Holder{Leaked: true}
			}
			return devices.Holder{}
		})
	for name, row := range map[string]struct{ got, want devices.Amounts }{
		"leaked": {inv.Leaked(), amounts(gpu, 2)}, "foreign": {inv.Foreign(), amounts(gpu, 5)},
		"ours": {inv.Ours(), amounts()}, "free": {inv.Free(), amounts(gpu, 3)},
	} {
		if diff := cmp.Diff(row.want, row.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if len(inv.Held) > 0 {
		t.Errorf("runs hold %v", inv.Held)
	}
}

func TestPodsAskForTheLargerOfInitAndRunning(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	p := makePod("a", gpu, 1)
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Resources: asks(gpu, 2)})
	p.Spec.InitContainers = []corev1.Container{{Resources: asks(gpu, 1), RestartPolicy: &always},
		{Resources: asks(gpu, 2)}}
	if diff := cmp.Diff(amounts(gpu, 4), devices.OfPod(&p)); diff != "" {
		t.Errorf("two containers and a sidecar (-want +got):\n%s", diff)
	}
	p.Spec.InitContainers[1].Resources = asks(gpu, 7)
	if diff := cmp.Diff(amounts(gpu, 8), devices.OfPod(&p)); diff != "" {
		t.Errorf("a large init container beside a sidecar (-want +got):\n%s", diff)
	}
}

func TestGroupsNameResourceAndProduct(t *testing.T) {
	inv := devices.Of([]corev1.Node{
		makeNode("a", offers(gpu, 8), label(gpu+".product", h100)),
		makeNode("b", offers(gpu, 8), label(gpu+".product", h100), cordoned), makeNode("c", offers(gpu, 2)),
		makeNode("d"),
	}, []resourcev1.ResourceSlice{slice("d", "gaudi.intel.com", 1, 1, device("x", "model", "Gaudi3"))})
	want := []devices.Group{{Resource: "gaudi.intel.com/device", Product: "bflow.dev/gpu-gaudi3", Nodes: 1, Total: 1},
		{Resource: gpu, Nodes: 1, Total: 2}, {Resource: gpu, Product: qH100, Nodes: 2, Total: 8}}
	if diff := cmp.Diff(want, inv.Groups()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b (cordoned)"}, inv.Lost()); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
}

// TestSumsOfAnyCluster: whatever nodes and pods there are, nothing is below zero and everything adds up.
func TestSumsOfAnyCluster(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		nodes, pods := anyCluster(rng)
		inv := devices.Of(nodes, nil)
		inv.Hold(pods, nil, ours)
		quota := devices.Amounts{}
		for _, n := range inv.Nodes {
			free, promised := n.Free(), n.Quota()
			for name, total := range n.Total {
				over := max(0, n.Ours[name]+n.Foreign[name]-total)
				switch {
				case n.Foreign[name] < 0 || n.Ours[name] < 0 || free[name] < 0 || promised[name] < 0:
					t.Fatalf("seed %d: node %s: something of %s is below zero", seed, n.Name, name)
				case n.Lost == "" && free[name]+n.Ours[name]+n.Foreign[name] != total+over:
					t.Fatalf("seed %d: node %s: %s: free, ours and foreign are not total", seed, n.Name, name)
				case n.Lost == "" && promised[name] < free[name]:
					t.Fatalf("seed %d: node %s: %s is free and not promised", seed, n.Name, name)
				case n.Lost != "" && (free[name] != 0 || promised[name] != n.Ours[name]):
					t.Fatalf("seed %d: lost node %s gives %s", seed, n.Name, name)
				}
				quota[name] += promised[name]
			}
		}
		if diff := cmp.Diff(quota, inv.Quota()); diff != "" {
			t.Fatalf("seed %d: quota is not the sum of the nodes:\n%s", seed, diff)
		}
	}
}

func anyCluster(rng *rand.Rand) ([]corev1.Node, []corev1.Pod) {
	names := []string{"a", "b", "c", "d"}
	kinds := []string{gpu, "nvidia.com/mig-1g.10gb", "amd.com/gpu"}
	var nodes []corev1.Node
	for _, name := range names[:rng.IntN(len(names)+1)] {
		n := makeNode(name)
		for _, kind := range kinds[:rng.IntN(len(kinds)+1)] {
			offers(kind, rng.Int64N(9))(&n)
		}
		if rng.IntN(2) == 0 {
			label(gpu+".product", h100)(&n)
		}
		if rng.IntN(4) == 0 {
			cordoned(&n)
		}
		nodes = append(nodes, n)
	}
	var pods []corev1.Pod
	for range rng.IntN(12) {
		p := makePod(append(names, "")[rng.IntN(5)], kinds[rng.IntN(3)], rng.Int64N(5))
		if rng.IntN(2) == 0 {
			mine(&p)
		}
		p.Status.Phase = []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded}[rng.IntN(3)]
		pods = append(pods, p)
	}
	return nodes, pods
}

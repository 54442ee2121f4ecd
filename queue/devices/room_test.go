package devices_test

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"bflow.dev/bflow/queue/devices"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func pods(count int64, pairs ...any) devices.Shape {
	return devices.Shape{Count: count, Requests: amounts(pairs...)}
}

func TestRoom(t *testing.T) {
	eight := func(name string) corev1.Node { return makeNode(name, offers(gpu, 8), label(gpu+".product", h100)) }
	l40 := makeNode("l", offers(gpu, 8), label(gpu+".product", "NVIDIA-L40S"))
	lost := makeNode("h", offers(gpu, 8), label(gpu+".product", h100), notReady)
	rows := []struct {
		name          string
		nodes         []corev1.Node
		pods          []corev1.Pod
		want, assumed []devices.Shape
		room          devices.Room // Why is looked for in the sentence
	}{
		{name: "a run without devices has room on a cluster without any", room: devices.Room{Enough: true}},
		{name: "eight on an empty node", nodes: []corev1.Node{eight("a")}, want: []devices.Shape{pods(1, gpu, 8)},
			room: devices.Room{Enough: true}},
		{name: "eight are free, but on two nodes", nodes: []corev1.Node{eight("a"), eight("b")},
			pods: []corev1.Pod{makePod("a", gpu, 4, mine), makePod("b", gpu, 4, mine)},
			want: []devices.Shape{pods(1, gpu, 8)}, room: devices.Room{
				Why: "no room for a pod with 8 nvidia.com/gpu: 8 of 16 nvidia.com/gpu are free, at most 4 on one node"}},
		{name: "pods of others are in the way", nodes: []corev1.Node{eight("a")}, pods: []corev1.Pod{makePod("a", gpu, 1)},
			want: []devices.Shape{pods(1, gpu, 8)}, room: devices.Room{Outsider: true, Why: "others hold 1"}},
		{name: "no node is that large", nodes: []corev1.Node{eight("a"), eight("b")}, want: []devices.Shape{pods(1, gpu, 16)},
			room: devices.Room{Never: true, Outsider: true, Why: "no room"}},
		{name: "a cordoned node is out, and may come back", nodes: []corev1.Node{makeNode("a", offers(gpu, 8), cordoned)},
			want: []devices.Shape{pods(1, gpu, 8)}, room: devices.Room{Outsider: true, Why: "no pods on a (cordoned)"}},
		{name: "two pods of four share a node", nodes: []corev1.Node{eight("a")}, want: []devices.Shape{pods(2, gpu, 4)},
			room: devices.Room{Enough: true}},
		{name: "three do not", nodes: []corev1.Node{eight("a")}, want: []devices.Shape{pods(3, gpu, 4)},
			room: devices.Room{Never: true, Outsider: true, Why: "3 pods with 4 nvidia.com/gpu each"}},
		{name: "a run that was let start takes the place that hurts most",
			nodes: []corev1.Node{eight("a"), makeNode("b", offers(gpu, 4))},
			want:  []devices.Shape{pods(1, gpu, 8)}, assumed: []devices.Shape{pods(1, gpu, 4)},
			room: devices.Room{Why: "no room"}},
		{name: "two runs that were let start may sit on two nodes", nodes: []corev1.Node{eight("a"), eight("b")},
			want: []devices.Shape{pods(1, gpu, 8)}, assumed: []devices.Shape{pods(2, gpu, 4)},
			room: devices.Room{Why: "no room"}},
		{name: "two runs of four on one node of eight", nodes: []corev1.Node{eight("a")},
			want: []devices.Shape{pods(1, gpu, 4)}, assumed: []devices.Shape{pods(1, gpu, 4)},
			room: devices.Room{Enough: true}},
		{name: "a run in front still waits for devices that others took", nodes: []corev1.Node{eight("a")},
			pods: []corev1.Pod{makePod("a", gpu, 6)},
			want: []devices.Shape{pods(1, gpu, 2)}, assumed: []devices.Shape{pods(1, gpu, 4)},
			room: devices.Room{Why: "a run that was started before still waits for its devices"}},
		{name: "a product is found on its nodes only", nodes: []corev1.Node{eight("a"), l40},
			pods: []corev1.Pod{makePod("a", gpu, 8, mine)},
			want: []devices.Shape{pods(1, gpu, 4, qH100, 4)}, room: devices.Room{Why: qH100}},
		{name: "a lost node of one product holds up no run of another", nodes: []corev1.Node{lost, l40},
			want:    []devices.Shape{pods(1, gpu, 8, qL40, 8)},
			assumed: []devices.Shape{pods(1, gpu, 8, qH100, 8)}, room: devices.Room{Enough: true}},
		{name: "nor one that takes any product, and finds it elsewhere", nodes: []corev1.Node{lost, l40},
			want:    []devices.Shape{pods(1, gpu, 8)},
			assumed: []devices.Shape{pods(1, gpu, 8, qH100, 8)}, room: devices.Room{Enough: true}},
		{name: "it holds up a run of its own product", nodes: []corev1.Node{lost, eight("a")},
			want:    []devices.Shape{pods(1, gpu, 8, qH100, 8)},
			assumed: []devices.Shape{pods(1, gpu, 8, qH100, 8)}, room: devices.Room{Why: "no room"}},
		{name: "it is a reason for one of its own", nodes: []corev1.Node{lost, l40},
			want: []devices.Shape{pods(1, gpu, 8, qH100, 8)},
			room: devices.Room{Outsider: true, Why: "no pods on h (not ready)"}},
		{name: "a product alone takes the devices too", nodes: []corev1.Node{eight("a")},
			want: []devices.Shape{pods(1, gpu, 4)}, assumed: []devices.Shape{pods(1, qH100, 8)},
			room: devices.Room{Why: "no room"}},
		{name: "slices and whole cards are different things",
			nodes: []corev1.Node{makeNode("a", offers(gpu, 1), offers("nvidia.com/mig-1g.10gb", 7))},
			pods:  []corev1.Pod{makePod("a", gpu, 1)}, want: []devices.Shape{pods(7, "nvidia.com/mig-1g.10gb", 1)},
			room: devices.Room{Enough: true}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			inv := devices.Of(row.nodes, nil)
			inv.Hold(row.pods, nil, ours)
			got := inv.Room(row.want, row.assumed)
			if !strings.Contains(got.Why, row.room.Why) || (got.Why == "") != got.Enough {
				t.Errorf("the sentence %q lacks %q", got.Why, row.room.Why)
			}
			got.Why = row.room.Why
			if diff := cmp.Diff(row.room, got); diff != "" {
				t.Errorf("room (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhyThereIsNoRoomIsToldOfNodesThatMatter(t *testing.T) {
	inv := devices.Of([]corev1.Node{
		makeNode("h", offers(gpu, 8), label(gpu+".product", h100), notReady),
		makeNode("i", offers(gpu, 8), label(gpu+".product", h100)),
		makeNode("l", offers(gpu, 8), label(gpu+".product", "NVIDIA-L40S")),
	}, nil)
	inv.Hold([]corev1.Pod{makePod("l", gpu, 4, mine), makePod("i", gpu, 1)}, nil, ours)
	want := "no room for a pod with 8 bflow.dev/gpu-l40s and 8 nvidia.com/gpu: 4 of 8 bflow.dev/gpu-l40s are free, " +
		"at most 4 on one node; " +
		"4 of 8 nvidia.com/gpu are free, at most 4 on one node"
	if got := inv.Room([]devices.Shape{pods(1, gpu, 8, qL40, 8)}, nil).Why; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestAbsurdNumbersTakeNoMemory: what a run says of itself does not decide how much memory its judgement takes.
func TestAbsurdNumbersTakeNoMemory(t *testing.T) {
	inv := devices.Of([]corev1.Node{makeNode("a", offers(gpu, 8)), makeNode("b", offers(gpu, 8))}, nil)
	const absurd = 100_000_000
	before := allocated()
	missing := devices.Missing(devices.Shapes(amounts(gpu, absurd)), amounts(gpu, 4))
	if diff := cmp.Diff([]devices.Shape{pods(absurd-4, gpu, 1)}, missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if room := inv.Room([]devices.Shape{pods(1, gpu, 8)}, missing); room.Enough {
		t.Error("there is no room behind a run that waits for more than there is")
	}
	if room := inv.Room(missing, []devices.Shape{pods(1, gpu, 8)}); !room.Never {
		t.Errorf("there is never room for %d devices: %+v", absurd, room)
	}
	if took := allocated() - before; took > 1<<20 {
		t.Errorf("it took %d KiB", took>>10)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestRoomIsRealForAnyPlacement: when there is said to be room, it is there wherever the scheduler puts what was let
// start before.
func TestRoomIsRealForAnyPlacement(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var nodes []corev1.Node
		for _, name := range []string{"a", "b", "c"} {
			nodes = append(nodes, makeNode(name, offers(gpu, rng.Int64N(9))))
		}
		want, assumed := pods(1+rng.Int64N(3), gpu, 1+rng.IntN(8)), pods(rng.Int64N(4), gpu, 1+rng.IntN(4))
		if !devices.Of(nodes, nil).Room([]devices.Shape{want}, []devices.Shape{assumed}).Enough {
			continue
		}
		for range 20 {
			inv := devices.Of(nodes, nil)
			inv.Hold(bindAnyhow(rng, nodes, assumed), nil, ours)
			if room := inv.Room([]devices.Shape{want}, nil); !room.Enough {
				t.Fatalf("seed %d: %v was promised beside %v: %s", seed, want, assumed, room.Why)
			}
		}
	}
}

// bindAnyhow binds each pod to some node that has room for it.
func bindAnyhow(rng *rand.Rand, nodes []corev1.Node, s devices.Shape) []corev1.Pod {
	left := map[string]int64{}
	for _, n := range nodes {
		q := n.Status.Allocatable[gpu]
		left[n.Name] = q.Value()
	}
	var out []corev1.Pod
	for range s.Count {
		for _, i := range rng.Perm(len(nodes)) {
			if name := nodes[i].Name; left[name] >= s.Requests[gpu] {
				left[name] -= s.Requests[gpu]
				out = append(out, makePod(name, gpu, s.Requests[gpu], mine))
				break
			}
		}
	}
	return out
}

func TestMissingPodsAreThoseNotYetBound(t *testing.T) {
	rows := []struct {
		name   string
		shapes []devices.Shape
		held   devices.Amounts
		want   []devices.Shape
	}{
		{"none is bound", []devices.Shape{pods(2, gpu, 4)}, amounts(), []devices.Shape{pods(2, gpu, 4)}},
		{"one of two", []devices.Shape{pods(2, gpu, 4)}, amounts(gpu, 4, qH100, 4), []devices.Shape{pods(1, gpu, 4)}},
		{"all", []devices.Shape{pods(2, gpu, 4)}, amounts(gpu, 8), nil},
		{"of a run that told no pods", devices.Shapes(amounts(gpu, 4)), amounts(gpu, 4), nil},
		{"a retried pod beside the old one hides no other", []devices.Shape{pods(1, gpu, 4), pods(1, gpu, 2)},
			amounts(gpu, 4), []devices.Shape{pods(1, gpu, 2)}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, devices.Missing(row.shapes, row.held)); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

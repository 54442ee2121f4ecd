package devices_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"bflow.dev/bflow/queue/devices"

	corev1 "k8s.io/api/core/v1"
)

// anyWorld is a few nodes of two products, a run that wants room, and pods of runs that were let start and have no
// node.
func anyWorld(rng *rand.Rand) (nodes []corev1.Node, want, assumed []devices.Shape) {
	for _, name := range []string{"a", "b", "c"} {
		nodes = append(nodes, makeNode(name, offers(gpu, rng.Int64N(9)),
			label(gpu+".product", []string{h100, h100, "NVIDIA-L40S"}[rng.IntN(3)])))
	}
	shape := func(count int64) devices.Shape {
		n := 1 + rng.IntN(5)
		switch rng.IntN(4) {
		case 0:
			return pods(count, gpu, n, qH100, n)
		case 1:
			return pods(count, qL40, n)
		default:
			return pods(count, gpu, n)
		}
	}
	for range 1 + rng.IntN(2) {
		want = append(want, shape(1+rng.Int64N(2)))
	}
	for range rng.IntN(4) {
		assumed = append(assumed, shape(1+rng.Int64N(2)))
	}
	return nodes, want, assumed
}

// single are the pods of shapes, one by one.
func single(shapes []devices.Shape) (out []devices.Amounts) {
	for _, s := range shapes {
		for range s.Count {
			out = append(out, s.Requests)
		}
	}
	return out
}

// onto is what a pod takes of a node, 0 where it cannot lie there.
func onto(n *corev1.Node, free int64, pod devices.Amounts) int64 {
	product := map[string]string{h100: qH100, "NVIDIA-L40S": qL40}[n.Labels[gpu+".product"]]
	var takes int64
	for name, count := range pod {
		if name != gpu && name != product {
			return 0
		}
		takes = max(takes, count)
	}
	if takes > free {
		return 0
	}
	return takes
}

// everyPlacement calls each with what is left on the nodes, for all ways in which the scheduler may put pods. One
// that finds no node waits.
func everyPlacement(nodes []corev1.Node, free []int64, left []devices.Amounts, seen map[string]bool,
	each func([]int64)) {
	if key := fmt.Sprint(free, left); seen[key] {
		return
	} else {
		seen[key] = true
	}
	stuck := true
	for i, pod := range left {
		for j := range nodes {
			if takes := onto(&nodes[j], free[j], pod); takes > 0 {
				stuck = false
				free[j] -= takes
				everyPlacement(nodes, free, slices.Delete(slices.Clone(left), i, i+1), seen, each)
				free[j] += takes
			}
		}
	}
	if stuck {
		each(free)
	}
}

func freeOf(nodes []corev1.Node) (free []int64) {
	for i := range nodes {
		q := nodes[i].Status.Allocatable[gpu]
		free = append(free, q.Value())
	}
	return free
}

// roomBeside says whether there is room for want once so much is left on the nodes.
func roomBeside(nodes []corev1.Node, left []int64, want []devices.Shape) bool {
	var held []corev1.Pod
	for i, free := range freeOf(nodes) {
		if free > left[i] {
			held = append(held, makePod(nodes[i].Name, gpu, free-left[i], mine))
		}
	}
	inv := devices.Of(nodes, nil)
	inv.Hold(held, nil, ours)
	return inv.Room(want, nil).Enough
}

// TestRoomIsRealBesideAnyRuns: what is promised beside runs of several shapes is there however the scheduler puts
// them, and for one shape of pods it is promised where it is there in any case.
func TestRoomIsRealBesideAnyRuns(t *testing.T) {
	promised, refused := 0, 0
	for seed := range uint64(6000) {
		nodes, want, assumed := anyWorld(rand.New(rand.NewPCG(seed, 3)))
		enough := devices.Of(nodes, nil).Room(want, assumed).Enough
		always, allPlaced := true, false
		everyPlacement(nodes, freeOf(nodes), single(assumed), map[string]bool{}, func(left []int64) {
			always = always && roomBeside(nodes, left, want)
			allPlaced = allPlaced || sum(freeOf(nodes))-sum(left) == takenBy(assumed)
		})
		switch {
		case enough && !always:
			t.Fatalf("seed %d: %v was promised beside %v on %v", seed, want, assumed, describe(nodes))
		case enough:
			promised++
		case always && allPlaced && len(want) == 1 && len(assumed) < 2:
			t.Fatalf("seed %d: %v is refused beside %v on %v, and has room in any case", seed, want, assumed, describe(nodes))
		case always && allPlaced:
			refused++
		}
		if len(assumed) == 0 && !enough && always {
			t.Fatalf("seed %d: %v is refused on nodes that hold nothing: %v", seed, want, describe(nodes))
		}
	}
	t.Logf("promised %d times; refused %d times though there was room in any case", promised, refused)
	if promised < 1000 || refused > promised/10 {
		t.Errorf("promised %d times, refused %d times though there was room in any case", promised, refused)
	}
}

// TestRoomIsRealBesideRunsOfManyShapes: so many that not all of their combinations are looked at.
func TestRoomIsRealBesideRunsOfManyShapes(t *testing.T) {
	promised := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 4))
		var nodes []corev1.Node
		for i := range 16 {
			nodes = append(nodes, makeNode(fmt.Sprintf("n%02d", i), offers(gpu, 4+rng.Int64N(5)), label(gpu+".product", h100)))
		}
		var assumed []devices.Shape
		for n := range 6 {
			assumed = append(assumed, pods(3, gpu, 1+n%3), pods(1, qH100, 1+n))
		}
		want := []devices.Shape{pods(1+rng.Int64N(4), gpu, 1+rng.IntN(4))}
		if !devices.Of(nodes, nil).Room(want, assumed).Enough {
			continue
		}
		promised++
		for range 20 {
			left, waiting := freeOf(nodes), single(assumed)
			for _, i := range rng.Perm(len(waiting)) {
				for _, j := range rng.Perm(len(nodes)) {
					if takes := onto(&nodes[j], left[j], waiting[i]); takes > 0 {
						left[j] -= takes
						break
					}
				}
			}
			if !roomBeside(nodes, left, want) {
				t.Fatalf("seed %d: %v was promised beside %v on %v", seed, want, assumed, describe(nodes))
			}
		}
	}
	if promised < 30 {
		t.Errorf("promised %d times", promised)
	}
}

func sum(of []int64) (n int64) {
	for _, x := range of {
		n += x
	}
	return n
}

func takenBy(shapes []devices.Shape) (n int64) {
	for _, pod := range single(shapes) {
		n += slices.Max(slices.Collect(maps.Values(pod)))
	}
	return n
}

func describe(nodes []corev1.Node) (text []string) {
	for i, free := range freeOf(nodes) {
		text = append(text, fmt.Sprintf("%s %d of %s", nodes[i].Name, free, nodes[i].Labels[gpu+".product"]))
	}
	return text
}

// BenchmarkRoom looks for room on a hundred nodes beside pods of so many shapes that no node has yet.
func BenchmarkRoom(b *testing.B) {
	var nodes []corev1.Node
	for i := range 100 {
		nodes = append(nodes, makeNode(fmt.Sprintf("n%d", i), offers(gpu, 8), label(gpu+".product", h100)))
	}
	var held []corev1.Pod
	for i := range 50 {
		held = append(held, makePod(fmt.Sprintf("n%d", i), gpu, int64(1+i%8), mine))
	}
	inv := devices.Of(nodes, nil)
	inv.Hold(held, nil, ours)
	for _, row := range []struct {
		name    string
		assumed []devices.Shape
	}{
		{"none", nil},
		{"20 pods of a shape", []devices.Shape{pods(20, gpu, 2)}},
		{"20 runs of one shape", slices.Repeat([]devices.Shape{pods(1, gpu, 4)}, 20)},
		{"three shapes", []devices.Shape{pods(5, gpu, 1), pods(5, gpu, 2), pods(5, gpu, 4)}},
		{"five shapes", []devices.Shape{pods(9, gpu, 1), pods(9, gpu, 2), pods(9, gpu, 3), pods(9, gpu, 4), pods(9, gpu, 8)}},
	} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				inv.Room([]devices.Shape{pods(1, gpu, 8)}, row.assumed)
			}
		})
	}
}

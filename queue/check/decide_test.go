package check

import (
	"errors"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

const gpu = queuetest.GPU

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func up() view.Reach { return view.Reach{Up: true, Since: ago(time.Hour)} }

// pod holds GPUs of a node, of a run or, without one, of somebody else.
func pod(on string, gpus int64, run string) corev1.Pod {
	return queuetest.MakePod(on, gpus, map[string]string{contract.LabelRun: run})
}

func inventory(nodes []corev1.Node, pods ...corev1.Pod) *devices.Inventory {
	inv := devices.Of(nodes, nil)
	inv.Hold(pods, nil, func(namespace string, labels map[string]string) devices.Holder {
		if labels["bflow.dev/run"] == "" {
			return devices.Holder{}
		}
		return devices.Holder{Run: types.NamespacedName{Namespace: namespace, Name: labels["bflow.dev/run"]}}
	})
	return inv
}

func shape(count, gpus int64) []devices.Shape {
	return []devices.Shape{{Count: count, Requests: devices.Amounts{gpu: gpus}}}
}

func waits(run string, shapes []devices.Shape) Waiting {
	return Waiting{Run: run, Shapes: shapes, Reserved: ago(time.Second)}
}

// of is a node of a product, and of the pods that ask for it.
func of(product string, n corev1.Node, lost bool) corev1.Node {
	n.Labels = map[string]string{gpu + ".product": product}
	n.Spec.Unschedulable = lost
	return n
}

func asks(product string, gpus int64) []devices.Shape {
	return []devices.Shape{{Count: 1, Requests: devices.Amounts{gpu: gpus, devices.Product(product): gpus}}}
}

func TestARunThatWaitsForALostNodeHoldsUpOnlyThoseThatCouldHaveItsDevices(t *testing.T) {
	const ready, pending = kueue.CheckStateReady, kueue.CheckStatePending
	lost, h100, l40 := of("H100", queuetest.MakeNode("a", 8), true), of("H100", queuetest.MakeNode("b", 4), false),
		of("L40S", queuetest.MakeNode("c", 8), false)
	for _, row := range []struct {
		name   string
		nodes  []corev1.Node
		second []devices.Shape
		want   kueue.CheckState
	}{
		{"a run of another product starts", []corev1.Node{lost, l40}, asks("L40S", 8), ready},
		{"so does one that takes any", []corev1.Node{lost, l40}, shape(1, 8), ready},
		{"and one of this product on a node that is too small for the first", []corev1.Node{lost, h100, l40}, asks("H100", 4),
			ready},
		{"one that needs the same node waits", []corev1.Node{lost, l40}, asks("H100", 1), pending},
		{"one that could have what the first is waiting for does too",
			[]corev1.Node{of("H100", queuetest.MakeNode("a", 8), false), l40}, shape(1, 1), pending},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := Sight{Reach: up(), Inventory: inventory(row.nodes, pod("a", 4, "x"))}
			got := Decide(now, s, []Waiting{waits("first", asks("H100", 8)), waits("second", row.second)})
			if got[0].State != pending || got[1].State != row.want {
				t.Errorf("got %s (%s) and %s (%s), want %s", got[0].State, got[0].Message, got[1].State, got[1].Message, row.want)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	one, two := []corev1.Node{queuetest.MakeNode("a", 8)},
		[]corev1.Node{queuetest.MakeNode("a", 8), queuetest.MakeNode("b", 8)}
	const (
		ready, pending, retry = kueue.CheckStateReady, kueue.CheckStatePending, kueue.CheckStateRetry
	)
	rows := []struct {
		name    string
		sight   Sight
		waiting []Waiting
		want    []kueue.CheckState
		say     string        // in the last message
		requeue time.Duration // of the last
		until   time.Duration // from now, of the last
	}{
		{name: "an empty node has room for two runs of four, and for no third",
			sight:   Sight{Reach: up(), Inventory: inventory(one)},
			waiting: []Waiting{waits("r1", shape(1, 4)), waits("r2", shape(1, 4)), waits("r3", shape(1, 4))},
			want:    []kueue.CheckState{ready, ready, pending},
			say:     "8 of 8 nvidia.com/gpu are free, at most 8 on one node; 8 of them are for runs that were started"},
		{name: "eight free devices on two nodes are no room for eight on one",
			sight:   Sight{Reach: up(), Inventory: inventory(two, pod("a", 4, "x"), pod("b", 4, "y"))},
			waiting: []Waiting{waits("r1", shape(1, 8))}, want: []kueue.CheckState{pending},
			say: "8 of 16 nvidia.com/gpu are free, at most 4 on one node"},
		{name: "a small run does not pass a large one", sight: Sight{Reach: up(),
			Inventory: inventory(two, pod("a", 4, "x"), pod("b", 4, "y"))},
			waiting: []Waiting{waits("large", shape(1, 8)), waits("small", shape(1, 1))},
			want:    []kueue.CheckState{pending, pending}, say: "Waits behind run large"},
		{name: "nor does one that can never start wait behind it",
			sight:   Sight{Reach: up(), Inventory: inventory(two, pod("a", 4, "x"), pod("b", 4, "y"))},
			waiting: []Waiting{waits("large", shape(1, 8)), waits("huge", shape(1, 16))},
			want:    []kueue.CheckState{pending, retry}, say: "not even if", requeue: 5 * time.Minute},
		{name: "unless it needs no devices", sight: Sight{Reach: up(),
			Inventory: inventory(two, pod("a", 4, "x"), pod("b", 4, "y"))},
			waiting: []Waiting{waits("large", shape(1, 8)), waits("client", nil)}, want: []kueue.CheckState{pending, ready},
			say: "needs no devices"},
		{name: "a run that was let start keeps its places until its pods are there",
			sight:   Sight{Reach: up(), Inventory: inventory(one), Assumed: shape(1, 4)},
			waiting: []Waiting{waits("r", shape(1, 8))}, want: []kueue.CheckState{pending}, say: "no room"},
		{name: "a pod that no node could hold stays away for long, and nobody waits behind it",
			sight:   Sight{Reach: up(), Inventory: inventory(two)},
			waiting: []Waiting{waits("r1", shape(1, 16)), waits("r2", shape(1, 8))}, want: []kueue.CheckState{retry, ready},
			say: "free"},
		{name: "and says so", sight: Sight{Target: "local", Reach: up(), Inventory: inventory(two)},
			waiting: []Waiting{waits("r1", shape(1, 16))}, want: []kueue.CheckState{retry},
			say: `Target "local" has no room for a pod with 16 nvidia.com/gpu: 16 of 16 nvidia.com/gpu are free, at most 8 ` +
				`on one node; not even if all of them were free`, requeue: 5 * time.Minute},
		{name: "pods of others are waited for a while", sight: Sight{Reach: up(), Inventory: inventory(one, pod("a", 1, ""))},
			waiting: []Waiting{waits("r", shape(1, 8))}, want: []kueue.CheckState{pending}, say: "others hold 1",
			until: 119 * time.Second},
		{name: "and then the quota is given back", sight: Sight{Reach: up(), Inventory: inventory(one, pod("a", 1, ""))},
			waiting: []Waiting{{Run: "r", Shapes: shape(1, 8), Reserved: ago(2 * time.Minute)}}, want: []kueue.CheckState{retry},
			say: "others hold 1", requeue: time.Minute},
		{name: "pods of our runs are waited for as long as it takes",
			sight:   Sight{Reach: up(), Inventory: inventory(one, pod("a", 1, "x"))},
			waiting: []Waiting{{Run: "r", Shapes: shape(1, 8), Reserved: ago(time.Hour)}}, want: []kueue.CheckState{pending},
			say: "7 of 8"},
		{name: "a target that is away is waited for two minutes",
			sight: Sight{Target: "local", Reach: view.Reach{Since: ago(time.Minute), Why: "refused"},
				Inventory: inventory(one)},
			waiting: []Waiting{waits("r", shape(1, 8))}, want: []kueue.CheckState{pending},
			say: `The API server of target "local" has not answered since 11:59:00 UTC: refused`, until: time.Minute},
		{name: "then everybody stays away for a minute at a time",
			sight:   Sight{Reach: view.Reach{Since: ago(3 * time.Minute), Why: "refused"}},
			waiting: []Waiting{waits("r", shape(1, 8)), waits("client", nil)}, want: []kueue.CheckState{retry, retry},
			say: "refused", requeue: time.Minute},
		{name: "before the nodes are known nothing starts", sight: Sight{Target: "local"},
			waiting: []Waiting{waits("r", shape(1, 1))}, want: []kueue.CheckState{pending}, say: "are being read"},
		{name: "nothing starts on a dirty target", sight: Sight{Reach: up(), Inventory: inventory(one), Dirty: "bench/old"},
			waiting: []Waiting{waits("r", shape(1, 1))},
			want:    []kueue.CheckState{pending}, say: "released by force: bench/old"},
		{name: "a demand that cannot be read is refused for good", sight: Sight{Reach: up(), Inventory: inventory(one)},
			waiting: []Waiting{{Run: "r", Invalid: errors.New("reading pods: no JSON")}, waits("next", shape(1, 8))},
			want:    []kueue.CheckState{kueue.CheckStateRejected, ready}, say: "free"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got := Decide(now, row.sight, row.waiting)
			for i, d := range got {
				if d.State != row.want[i] {
					t.Errorf("run %s: %s (%s), want %s", row.waiting[i].Run, d.State, d.Message, row.want[i])
				}
			}
			last := got[len(got)-1]
			if !strings.Contains(last.Message, row.say) {
				t.Errorf("message %q lacks %q", last.Message, row.say)
			}
			var until time.Duration
			if !last.Until.IsZero() {
				until = last.Until.Sub(now)
			}
			if last.Requeue != row.requeue || until != row.until {
				t.Errorf("requeue after %s and decide again in %s, want %s and %s", last.Requeue, until, row.requeue, row.until)
			}
		})
	}
}

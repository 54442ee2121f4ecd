package check

import (
	"strings"
	"testing"

	"bflow.dev/bflow/queue/lock"
	"bflow.dev/bflow/queue/queuetest"

	corev1 "k8s.io/api/core/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// doorOf answers by setup key, and remembers who was asked for.
type doorOf struct {
	answers map[string]lock.Answer
	asked   []string
}

func (d *doorOf) Ask(q lock.Request) lock.Answer {
	d.asked = append(d.asked, q.Run)
	return d.answers[q.Key]
}

func locked(run, key string, gpus int64) Waiting {
	w := waits(run, shape(1, gpus))
	w.Lock = lock.Request{Run: run, Key: key}
	return w
}

func TestAtTheDoor(t *testing.T) {
	const (
		ready, pending, retry = kueue.CheckStateReady, kueue.CheckStatePending, kueue.CheckStateRetry
	)
	answers := map[string]lock.Answer{"": {Granted: true}, "k": {Granted: true, Fence: 1}, "l": {Reason: "Waits for k"},
		"m": {Requeue: true, Reason: "l comes first"}}
	for _, row := range []struct {
		name    string
		waiting []Waiting
		want    []kueue.CheckState
		asked   string
		say     string // in the last message
	}{
		{name: "a run of the key that is held starts", waiting: []Waiting{locked("a", "k", 4)},
			want: []kueue.CheckState{ready}, asked: "a"},
		{name: "one that waits for the platform keeps its quota, and holds up nobody",
			waiting: []Waiting{locked("a", "l", 4), locked("b", "", 4)},
			want:    []kueue.CheckState{pending, ready}, asked: "a b"},
		{name: "its devices stay free for it", waiting: []Waiting{locked("a", "l", 4), locked("b", "", 8)},
			want: []kueue.CheckState{pending, pending}, asked: "a", say: "4 of them are for runs that were started"},
		{name: "one that others come before gives its quota back",
			waiting: []Waiting{locked("a", "l", 4), locked("b", "m", 1)},
			want:    []kueue.CheckState{pending, retry}, asked: "a b", say: "l comes first"},
		{name: "nobody is asked for whom there is no room", waiting: []Waiting{locked("a", "k", 8), locked("b", "k", 8)},
			want: []kueue.CheckState{ready, pending}, asked: "a"},
	} {
		t.Run(row.name, func(t *testing.T) {
			door := &doorOf{answers: answers}
			got := Decide(now, Sight{Target: "lab", Reach: up(), Inventory: inventory([]corev1.Node{queuetest.MakeNode("a", 8)}),
				Door: door}, row.waiting)
			for i, want := range row.want {
				if got[i].State != want {
					t.Errorf("%s: %s, want %s: %s", row.waiting[i].Run, got[i].State, want, got[i].Message)
				}
			}
			if asked := strings.Join(door.asked, " "); asked != row.asked ||
				!strings.Contains(got[len(got)-1].Message, row.say) {
				t.Errorf("asked for %q; %q", asked, got[len(got)-1].Message)
			}
		})
	}
}

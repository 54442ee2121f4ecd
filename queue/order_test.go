package queue

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// runs are those that a cache shows.
type runs struct {
	*line
	shown  []*tektonv1.PipelineRun
	gone   map[types.UID]bool // they wait no more
	asked  int                // how often the cache was asked
	serial int
}

func newRuns() *runs { return &runs{line: newLine(), gone: map[types.UID]bool{}} }

// make makes a run some milliseconds after the beginning, which the cache tells of.
func (r *runs) make(name string, ms int64) {
	r.serial++
	pr := &tektonv1.PipelineRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: name, UID: types.UID(name),
			ResourceVersion:   strconv.Itoa(98 + r.serial),
			CreationTimestamp: metav1.Time{Time: time.UnixMilli(ms).Truncate(time.Second)},
			Labels:            map[string]string{contract.LabelPlanHash: "abc", contract.LabelQueue: "local"}},
		Spec: tektonv1.PipelineRunSpec{Status: tektonv1.PipelineRunSpecStatusPending},
	}
	r.shown = append(r.shown, pr)
}

// tell lets the line know of all runs, in an order as good as any.
func (r *runs) tell(t *testing.T) {
	q := priorityqueue.New[reconcile.Request]("runs")
	defer q.ShutDown()
	for _, pr := range slices.Backward(r.shown) {
		oldestFirst{r.line}.Create(t.Context(), event.CreateEvent{Object: pr}, q)
	}
}

// ask is whether a run may enter, which it does then.
func (r *runs) ask(t *testing.T, name string, ms int64) time.Duration {
	t.Helper()
	i := slices.IndexFunc(r.shown, func(pr *tektonv1.PipelineRun) bool { return pr.Name == name })
	wait, err := r.turn(r.shown[i], time.UnixMilli(ms), func(_ types.NamespacedName, id types.UID) (bool, error) {
		r.asked++
		return !r.gone[id], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if wait == 0 {
		r.gone[r.shown[i].UID] = true
		r.noteEntry(r.shown[i], time.UnixMilli(ms))
	}
	return wait
}

func TestRunsEnterInTheOrderInWhichTheyWereMade(t *testing.T) {
	r := newRuns()
	for _, row := range []struct {
		name  string
		makes string // a run that is made now
		asks  string
		now   int64
		want  time.Duration
	}{
		{"the leader before may have let one enter in this second", "a", "a", 1100, time.Second},
		{"the first enters", "", "a", 2100, 0},
		{"the next one has a whole second to wait", "b", "b", 2200, 900 * time.Millisecond},
		{"one of the same second waits behind it", "c", "c", 2300, time.Second},
		{"the earlier enters", "", "b", 3100, 0},
		{"the later not yet", "", "c", 4000, 100 * time.Millisecond},
		{"then it does", "", "c", 4100, 0},
		{"one that nobody has asked for keeps a younger one waiting", "d", "", 5000, 0},
		{"which waits", "e", "e", 6000, time.Second},
		{"and lets it by", "", "d", 6100, 0},
		{"and follows", "", "e", 7100, 0},
		{"after a minute runs enter together with those of their second", "f", "", 8000, 0},
		{"and these are two", "g", "", 8500, 0},
		{"and there is one of the next second", "h", "", 9000, 0},
		{"the later may be first then", "", "g", 69_100, 0},
		{"and the earlier with it", "", "f", 69_100, 0},
		{"but not one of another second", "", "h", 69_200, 900 * time.Millisecond},
	} {
		if row.makes != "" {
			r.make(row.makes, row.now)
			r.tell(t)
		}
		if row.asks == "" {
			continue
		}
		if got := r.ask(t, row.asks, row.now); got != row.want {
			t.Errorf("%s: run %s waits %v, want %v", row.name, row.asks, got, row.want)
		}
	}
}

// TestANewLeaderKnowsWhoWasThereBefore, whoever it is asked for first.
func TestANewLeaderKnowsWhoWasThereBefore(t *testing.T) {
	r := newRuns()
	r.make("first", 1000)
	r.make("second", 2000)
	r.make("third", 3000)
	r.gone["first"] = true // it entered under the leader before
	r.tell(t)
	if wait := r.ask(t, "third", 5000); wait == 0 {
		t.Error("the third enters before the second")
	}
	if wait := r.ask(t, "second", 6000); wait > 0 {
		t.Errorf("the second waits for %v", wait)
	}
	if wait := r.ask(t, "third", 7000); wait > 0 {
		t.Errorf("the third waits for %v", wait)
	}
}

// TestNobodyWaitsForLongForOneRun: one that does not come to its turn, and one that something of its own holds up.
func TestNobodyWaitsForLongForOneRun(t *testing.T) {
	r := newRuns()
	for i, name := range []string{"held", "slow", "x"} {
		r.make(name, int64(1000*(i+1)))
	}
	r.tell(t)
	r.stepOut("held")
	r.tell(t) // it was written why
	for _, row := range []struct {
		asks string
		now  int64
		want time.Duration
	}{
		{"x", 5000, time.Second},
		{"x", 16_000, time.Second},
		{"x", 16_100, 0},
		{"slow", 17_000, 100 * time.Millisecond},
		{"slow", 17_100, 0},
		{"held", 18_100, 0},
	} {
		if got := r.ask(t, row.asks, row.now); got != row.want {
			t.Errorf("at %d run %s waits %v, want %v", row.now, row.asks, got, row.want)
		}
	}
	r.leave("held")
	if len(r.out) > 0 || r.waiting.Len() > 0 {
		t.Errorf("it remembers %v and %d places", r.out, r.waiting.Len())
	}
}

// TestALongLineIsCheap: of thousands of runs that have their Workloads each is passed over once.
func TestALongLineIsCheap(t *testing.T) {
	const many = 5000
	r := newRuns()
	for i := range many {
		name := fmt.Sprint("queued-", i)
		r.make(name, 1000)
		r.gone[types.UID(name)] = true
	}
	r.make("x", 2000)
	r.make("y", 2000)
	r.tell(t)
	for now := int64(10_000); now < 20_000; now += 20 {
		if r.ask(t, "y", now) == 0 {
			t.Fatal("the later enters first")
		}
	}
	if r.asked > many+600 {
		t.Errorf("the cache was asked %d times", r.asked)
	}
}

func TestTheOldestRunIsLookedAtFirst(t *testing.T) {
	q := priorityqueue.New[reconcile.Request]("runs")
	defer q.ShutDown()
	for name, second := range map[string]int64{"c": 30, "a": 10, "d": 40, "b": 20} {
		oldestFirst{newLine()}.Create(t.Context(), event.CreateEvent{Object: &tektonv1.PipelineRun{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Time{Time: time.Unix(second, 0)}},
		}}, q)
	}
	var got []string
	for range 4 {
		request, _ := q.Get()
		got = append(got, request.Name)
		q.Done(request)
	}
	if !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("got %v", got)
	}
}

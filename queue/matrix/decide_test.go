package matrix

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// makeSight is a matrix by words: a letter of an outcome for each point, besides q, a run that waits, and r, one that
// runs. Points of even places are of lane b where two lanes are wanted.
func makeSight(words string, lanes int) *sight {
	s := &sight{children: map[int]*child{}}
	for i, c := range words {
		o := state.Outcome(c)
		if c == 'q' || c == 'r' {
			o = state.Made
			pr := &tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("r", i),
				Annotations: map[string]string{}}}
			pr.Spec.Status = tektonv1.PipelineRunSpecStatusPending
			if c == 'r' {
				pr.Spec.Status = ""
				pr.Annotations[contract.AnnotationAdmitted] = "now"
			}
			s.children[i] = &child{attempts: []*tektonv1.PipelineRun{pr}}
		}
		s.outcomes = append(s.outcomes, o)
	}
	s.about = func(i int) about {
		return about{lane: []string{"a", "b"}[i%lanes], expected: 10 * time.Minute}
	}
	return s
}

func TestHowManyRunsAreMade(t *testing.T) {
	for _, row := range []struct {
		name   string
		words  string
		lanes  int
		rules  rules
		ending bool
		want   string // places from 0
	}{
		{name: "a small matrix at once", words: "...", lanes: 1, want: "0 1 2"},
		{name: "twenty at first", words: strings.Repeat(".", 100), lanes: 1, want: places(0, 20, 1)},
		{name: "twenty in each queue", words: strings.Repeat(".", 100), lanes: 2, want: places(0, 40, 1)},
		{name: "twice as many as run", words: strings.Repeat("r", 15) + strings.Repeat(".", 100), lanes: 1,
			want: places(15, 45, 1)},
		{name: "a queue that is full does not stop the other", words: strings.Repeat("q.", 20) + "....", lanes: 2,
			want: places(1, 41, 2)},
		{name: "no more than a person says", words: "rq......", lanes: 1, rules: rules{maxParallel: 3}, want: "2"},
		{name: "what has ended makes room", words: "prq.....", lanes: 1, rules: rules{maxParallel: 3}, want: "3"},
		{name: "none when it ends", words: "r.....", lanes: 1, ending: true},
		{name: "none twice: what was skipped or lost is not made again", words: "sdc", lanes: 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := makeSight(row.words, row.lanes)
			s.rules, s.ending = row.rules, row.ending
			if got := strings.Trim(fmt.Sprint(s.next()), "[]"); got != row.want {
				t.Errorf("%s, want %s", got, row.want)
			}
		})
	}
}

func places(from, to, step int) string {
	var all []string
	for i := from; i < to; i += step {
		all = append(all, fmt.Sprint(i))
	}
	return strings.Join(all, " ")
}

func TestNothingIsMadeOfPointsThatAreNotKnown(t *testing.T) {
	s := makeSight("..", 1)
	s.about = nil
	if got := s.next(); got != nil {
		t.Errorf("%v", got)
	}
}

func TestTheGuessOfTheEnd(t *testing.T) {
	now := time.Unix(0, 0)
	for _, row := range []struct {
		name  string
		words string
		lanes int
		spent map[string]state.Spent
		want  time.Duration
	}{
		{name: "nobody knows before something runs", words: "qq..", lanes: 1},
		{name: "by the plan, one after another", words: "r.", lanes: 1, want: 18 * time.Minute},
		{name: "by the plan, two at once", words: "rr..", lanes: 1, want: 18 * time.Minute},
		{name: "by what runs took", words: "ppr.", lanes: 1, spent: map[string]state.Spent{"a": {Runs: 2, Seconds: 240}},
			want: 3 * time.Minute},
		{name: "the slowest queue counts", words: "rr" + strings.Repeat(".p", 4), lanes: 2, want: 54 * time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := time.Duration(0)
			if at := makeSight(row.words, row.lanes).finish(row.spent, now); !at.IsZero() {
				got = at.Sub(now)
			}
			if got != row.want {
				t.Errorf("%s, want %s", got, row.want)
			}
		})
	}
}

// TestQueuesAreNeverEmptyAndWindowsNeverBreak lives a large matrix over two queues of different speed.
func TestQueuesAreNeverEmptyAndWindowsNeverBreak(t *testing.T) {
	plans := makePlans(t, 60, func(i int, p *runplan.RunPlan) {
		if i%3 == 0 {
			p.Target.Name, p.Queue.Name = "far", "far"
		}
	})
	w := newWorld(t, plans)
	w.slots = 6
	for range 100 {
		w.Must(w.reconcile())
		count := map[string]int{}
		for _, pr := range w.runs() {
			if pr.IsPending() && !pr.IsDone() {
				count[pr.Labels[contract.LabelQueue]]++
			}
		}
		for queue, n := range count {
			if n > fewest {
				t.Fatalf("%d runs wait in queue %s", n, queue)
			}
		}
		if w.cr().IsDone() {
			break
		}
		w.act()
	}
	if s := w.state(); s.Outcomes != "60p" || !w.cr().IsSuccessful() || len(w.started) != 60 {
		t.Errorf("%+v, %d have started", s, len(w.started))
	}
	var order []int
	for _, pr := range w.runs() {
		if pr.Annotations[contract.AnnotationMLflowParent] != "ml7" || pr.Labels[contract.LabelRun] != pr.Name ||
			pr.Labels[contract.LabelAttempt] != "1" {
			t.Fatalf("%s: %v %v", pr.Name, pr.Labels, pr.Annotations)
		}
		n := 0
		_, _ = fmt.Sscan(pr.Annotations[contract.AnnotationPoint], &n)
		order = append(order, n)
	}
	if !slices.IsSorted(order) {
		t.Errorf("points %v", order)
	}
}

func TestAMatrixThatCannotBe(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(w *world)
		want string
	}{
		{"a param that is no digest", func(w *world) { w.param(contract.ParamPlans, "x") }, "compile the matrix again"},
		{"more points than there are", func(w *world) { w.param(contract.ParamPoints, "7") },
			`there are 2, and param "points" says 7`},
		{"points that were changed", func(w *world) { w.damage() }, "it was changed after it was made"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, makePlans(t, 2))
			row.do(w)
			w.Must(w.reconcile())
			cr := w.cr()
			if c := cr.Status.GetCondition("Succeeded"); !c.IsFalse() || !strings.Contains(c.Message, row.want) ||
				len(w.runs()) > 0 || len(cr.Finalizers) > 0 {
				t.Errorf("%+v, %v, %d runs", c, cr.Finalizers, len(w.runs()))
			}
		})
	}
}

func TestPointsThatAreNotThereYetAreWaitedFor(t *testing.T) {
	w := newWorld(t, makePlans(t, 2))
	maps := w.hidePoints()
	w.Must(w.reconcile())
	if s := w.state(); len(s.Waits) != 1 || !strings.Contains(s.Waits[0], "not found") || w.cr().IsDone() {
		t.Errorf("%+v", s)
	}
	for _, cm := range maps {
		cm.ResourceVersion = ""
		w.Must(w.Client.Create(t.Context(), &cm))
	}
	w.settle()
	if s := w.state(); s.Outcomes != "2p" || len(s.Waits) > 0 {
		t.Errorf("%+v", s)
	}
}

func TestTheForceOfAParentReachesItsRuns(t *testing.T) {
	w := newWorld(t, makePlans(t, 2))
	w.hold = true
	w.settle()
	w.EditRun("tiny", func(pr *tektonv1.PipelineRun) {
		annotate(pr, contract.AnnotationForce, "true")
		pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled
	})
	w.tekton()
	w.Must(w.reconcile())
	for _, pr := range w.runs() {
		if !pr.IsCancelled() || pr.Annotations[contract.AnnotationForce] == "" {
			t.Errorf("%s: %q %v", pr.Name, pr.Spec.Status, pr.Annotations)
		}
	}
	w.settle()
	if w.state().Outcomes != "2c" {
		t.Errorf("%s", w.state().Outcomes)
	}
}

// TestAPointThatSaysWhatOnlyTheControllerSaysIsRefused: with "freed" it would give back the quota of devices that it
// holds, with the name of another run have that run's objects deleted.
func TestAPointThatSaysWhatOnlyTheControllerSaysIsRefused(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(pr *tektonv1.PipelineRun)
		want   string
	}{
		{"freed", func(pr *tektonv1.PipelineRun) { annotate(pr, contract.AnnotationFreed, "now") },
			"annotation bflow.dev/freed is written by bflow-controller only"},
		{"released", func(pr *tektonv1.PipelineRun) { annotate(pr, contract.AnnotationReleased, "now") },
			"annotation bflow.dev/released is written by bflow-controller only"},
		{"the name of another run", func(pr *tektonv1.PipelineRun) { pr.Labels[contract.LabelRun] = "other" },
			"label bflow.dev/run is written by bflow-controller only"},
		{"a release, whose pods are a server's",
			func(pr *tektonv1.PipelineRun) { pr.Labels[contract.LabelRelease] = "other" },
			"label bflow.dev/release is not one that a run may carry"},
		{"an owner", func(pr *tektonv1.PipelineRun) { pr.OwnerReferences = []metav1.OwnerReference{{Name: "x"}} },
			"it has an owner or a finalizer"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, makePlans(t, 3))
			w.changePoint(1, row.change)
			w.settle()
			s := w.state()
			want := "point 2 was changed after it was compiled, so no run of it is made: " + row.want
			if s.Outcomes != "pFp" || len(s.Notes) != 1 || !strings.HasPrefix(s.Notes[0], want) {
				t.Errorf("%s, %q, want %q", s.Outcomes, s.Notes, want)
			}
			if len(w.runs()) != 2 {
				t.Errorf("%d runs", len(w.runs()))
			}
		})
	}
}

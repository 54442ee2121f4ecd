package check

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/tasks/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

const (
	histories = 10_000
	troubled  = 60     // steps in which things go wrong
	enough    = 10_000 // steps after which every run must have ended
)

// TestNeverMoreDevicesThanThereAre plays random histories at one target: runs of three namespaces with the same names come, wait, are
// let start, make their pods one after the other, and end or are cancelled; controllers die between two answers, see pods late, and
// release by force; a namespace is deleted, the target is away. BFLOW_MODEL_SEED replays one.
func TestNeverMoreDevicesThanThereAre(t *testing.T) {
	first, n := uint64(1), histories
	if text := os.Getenv("BFLOW_MODEL_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, n = seed, 1
	}
	for seed := first; seed < first+uint64(n); seed++ {
		if wrong := play(seed, run.Key); wrong != "" {
			t.Fatalf("BFLOW_MODEL_SEED=%d: %s", seed, wrong)
		}
	}
	t.Logf("%d histories from seed %d", n, first)
}

func TestTheModelSeesRunsThatAreTakenForOneAnother(t *testing.T) {
	byName := func(o metav1.Object) types.NamespacedName { return types.NamespacedName{Name: run.ID(o)} }
	for seed := uint64(1); seed < 2000; seed++ {
		if play(seed, byName) != "" {
			return
		}
	}
	t.Error("2000 histories show nothing of it")
}

// modelled is a run with its Workload and what it has on the target.
type modelled struct {
	pr      *tektonv1.PipelineRun
	gpus    []int64 // of its pods
	made    int     // pods that were made
	pods    []corev1.Pod
	ready   bool // let start
	ending  bool
	gone    bool // its PipelineRun is being deleted with its namespace, which the controller holds up until it is released
	clean   bool // nothing of it is left
	started int
}

// model is a target, what the controller has seen of it, and all that happens.
type model struct {
	*rand.Rand
	key   func(metav1.Object) types.NamespacedName
	nodes []corev1.Node
	total int64
	runs  []*modelled
	seen  []corev1.Pod // by the controller
	dirty bool
	away  bool
	wrong string
}

// play returns what was wrong in a history, "" where nothing was.
func play(seed uint64, key func(metav1.Object) types.NamespacedName) string {
	m := &model{Rand: rand.New(rand.NewPCG(seed, 0)), key: key, nodes: []corev1.Node{node("a", 8), node("b", 4)}, total: 12}
	for range troubled {
		m.step(m.IntN(12))
	}
	m.away = false
	left := func(r *modelled) bool { return !r.clean }
	for n := 0; n < enough && slices.ContainsFunc(m.runs, left) && m.wrong == ""; n++ {
		m.step(1 + m.IntN(6))
	}
	for _, r := range m.runs {
		if !r.clean && m.wrong == "" {
			m.wrong = fmt.Sprintf("run %s never ends: ready %t, %d of %d pods, dirty %t", run.Key(r.pr), r.ready, r.made, len(r.gpus), m.dirty)
		}
	}
	return m.wrong
}

func (m *model) step(what int) {
	switch what {
	case 0:
		m.submit()
	case 1, 2:
		m.answer(m.IntN(4) == 0)
	case 3:
		m.makePod()
	case 4:
		m.end(m.any(func(r *modelled) bool { return r.ready }))
	case 5:
		m.removePod()
	case 6:
		m.look()
	case 7: // somebody cancels
		m.end(m.any(func(r *modelled) bool { return true }))
	case 8:
		m.force()
	case 9:
		m.away = !m.away
	case 10:
		if m.IntN(4) == 0 {
			m.deleteNamespace(fmt.Sprintf("team%d", m.IntN(3)))
		}
	case 11:
		m.submit()
	}
	m.check()
}

func (m *model) any(which func(*modelled) bool) *modelled {
	var found []*modelled
	for _, r := range m.runs {
		if !r.clean && which(r) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[m.IntN(len(found))]
}

// submit makes a run, unless one of its name is there.
func (m *model) submit() {
	ns, name := fmt.Sprintf("team%d", m.IntN(3)), []string{"nightly", "gate"}[m.IntN(2)]
	if slices.ContainsFunc(m.runs, func(r *modelled) bool { return !r.clean && r.pr.Namespace == ns && r.pr.Name == name }) {
		return
	}
	count, each := 1+m.Int64N(3), 1+m.Int64N(4)
	pr := &tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{contract.LabelRun: name},
		Annotations: map[string]string{contract.AnnotationPods: fmt.Sprintf(`[{"count":%d,"requests":{%q:"%d"}}]`, count, gpu, each)}}}
	m.runs = append(m.runs, &modelled{pr: pr, gpus: slices.Repeat([]int64{each}, int(count))})
}

// answer decides for all runs that wait, as the controller does; one that dies has written a part of its answers.
func (m *model) answer(dies bool) {
	var granted []*tektonv1.PipelineRun
	var waiting []Waiting
	var asked []*modelled
	for _, r := range m.runs {
		switch {
		case r.clean || run.Released(r.pr):
		case r.ready:
			granted = append(granted, r.pr)
		case !r.ending && !r.gone:
			shapes, err := run.Shapes(r.pr)
			waiting = append(waiting, Waiting{Run: run.ID(r.pr), Shapes: shapes, Invalid: err, Reserved: now})
			asked = append(asked, r)
		}
	}
	inv := devices.Of(m.nodes, nil)
	inv.Hold(m.seen, nil, func(namespace string, labels map[string]string) devices.Holder {
		return devices.Holder{Run: m.key(&metav1.ObjectMeta{Namespace: namespace, Name: labels[contract.LabelRun]})}
	})
	s := Sight{Target: "t", Reach: view.Reach{Up: !m.away, Since: ago(time.Second)}, Inventory: inv, Assumed: m.assumed(granted, inv.Held)}
	if m.dirty {
		s.Dirty = "a run"
	}
	decisions := Decide(now, s, waiting)
	written := len(decisions)
	if dies {
		written = m.IntN(written + 1)
	}
	for i, d := range decisions[:written] {
		if d.State == kueue.CheckStateReady {
			asked[i].ready = true
			asked[i].started++
		}
	}
}

// assumed is the function of that name, where runs are told apart by the key of the model.
func (m *model) assumed(granted []*tektonv1.PipelineRun, held map[types.NamespacedName]devices.Amounts) []devices.Shape {
	known := map[types.NamespacedName]devices.Amounts{}
	for _, pr := range granted {
		known[run.Key(pr)] = held[m.key(pr)]
	}
	return assumed(granted, known)
}

// makePod puts the next pod of a run on a node that has room, as a scheduler does.
func (m *model) makePod() {
	r := m.any(func(r *modelled) bool { return r.ready && !r.ending && !r.gone && r.made < len(r.gpus) })
	if r == nil {
		return
	}
	free := map[string]int64{}
	for _, n := range m.nodes {
		free[n.Name] = n.Status.Allocatable.Name(gpu, resource.DecimalSI).Value()
	}
	for _, other := range m.runs {
		for _, p := range other.pods {
			free[p.Spec.NodeName] -= heldBy(p)
		}
	}
	for _, n := range m.nodes {
		if free[n.Name] >= r.gpus[r.made] {
			p := pod(n.Name, r.gpus[r.made], run.ID(r.pr))
			p.Namespace = r.pr.Namespace
			r.pods = append(r.pods, p)
			r.made++
			return
		}
	}
}

func heldBy(p corev1.Pod) int64 {
	return p.Spec.Containers[0].Resources.Limits.Name(gpu, resource.DecimalSI).Value()
}

func (m *model) end(r *modelled) {
	if r == nil {
		return
	}
	r.ending = true
	m.settle(r)
}

// removePod takes a pod of an ended run away; the last one frees the run, and cleans the target.
func (m *model) removePod() {
	if r := m.any(func(r *modelled) bool { return r.ending && len(r.pods) > 0 }); r != nil {
		r.pods = r.pods[1:]
		m.settle(r)
	}
}

func (m *model) settle(r *modelled) {
	if len(r.pods) > 0 {
		return
	}
	r.clean = true
	r.pr.Annotations[contract.AnnotationFreed], r.pr.Annotations[contract.AnnotationReleased] = "now", "now"
	m.dirty = slices.ContainsFunc(m.runs, func(r *modelled) bool { return run.Released(r.pr) && len(r.pods) > 0 })
}

// force releases a run whose pods do not go.
func (m *model) force() {
	if r := m.any(func(r *modelled) bool { return r.ending && len(r.pods) > 0 && !r.gone }); r != nil {
		r.pr.Annotations[contract.AnnotationReleased] = "by force"
		m.dirty = true
	}
}

// deleteNamespace ends the runs of a team; their pods go later.
func (m *model) deleteNamespace(ns string) {
	for _, r := range m.runs {
		if r.pr.Namespace == ns && !r.clean {
			r.gone = true
			m.end(r)
		}
	}
}

// look brings what the controller has seen up to date.
func (m *model) look() {
	m.seen = nil
	for _, r := range m.runs {
		m.seen = append(m.seen, r.pods...)
	}
}

// check is what must always hold.
func (m *model) check() {
	var claimed int64
	for _, r := range m.runs {
		if r.started > 1 {
			m.wrong = fmt.Sprintf("run %s was let start %d times", run.Key(r.pr), r.started)
		}
		if run.Released(r.pr) && len(r.pods) > 0 && !m.dirty {
			m.wrong = fmt.Sprintf("run %s was released with %d pods, and the target is not marked", run.Key(r.pr), len(r.pods))
		}
		switch {
		case r.clean:
		case r.ready && !r.ending:
			for _, n := range r.gpus {
				claimed += n
			}
		default:
			for _, p := range r.pods {
				claimed += heldBy(p)
			}
		}
	}
	if claimed > m.total {
		m.wrong = fmt.Sprintf("%d devices are held or promised, and there are %d", claimed, m.total)
	}
}

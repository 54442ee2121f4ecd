package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// modelled is a run with its Workload and what it has on the target.
type modelled struct {
	pr      *tektonv1.PipelineRun // never changed but replaced: a cache may hold an older one
	urgent  bool                  // it comes before those that are not
	version int                   // of its Workload, unlike that of any other
	away    time.Duration         // until when the check has sent it away
	gpus    []int64               // of its pods
	made    int                   // pods that were made
	pods    []corev1.Pod
	ready   bool // let start
	ending  bool
	held    bool // its PipelineRun is being deleted with its namespace, which the controller holds up until it is released
	clean   bool // nothing of it is left
	deleted bool // its PipelineRun is gone, and pods of it are not
}

func (r *modelled) String() string {
	return fmt.Sprintf("%s (ready %t, %d of %d pods made)", run.Key(r.pr), r.ready, r.made, len(r.gpus))
}

// is says whether there is a PipelineRun of the run.
func (r *modelled) is() bool { return !r.clean && !r.deleted }

func (r *modelled) annotate(keys ...string) {
	r.pr = r.pr.DeepCopy()
	for _, key := range keys {
		r.pr.Annotations[key] = "now"
	}
}

// model is a target with its pods, the API server of the hub, the controllers there, and all that happens.
type model struct {
	*rand.Rand
	without guard
	saw     events
	wrong   string

	now      time.Duration // since the history began
	versions int
	lease    lease
	replicas []*replica

	nodes    []corev1.Node
	total    int64
	stranger []corev1.Pod // of somebody else
	runs     []*modelled
	dirty    bool
	away     bool // the API server of the target does not answer
	lost     bool // the Secret of the target is gone
}

// events count what a model must not miss.
type events struct{ Starts, Takeovers, Refused, Conflicts, Again, Lost int }

func (e *events) add(o events) {
	e.Starts += o.Starts
	e.Takeovers += o.Takeovers
	e.Refused += o.Refused
	e.Conflicts += o.Conflicts
	e.Again += o.Again
	e.Lost += o.Lost
}

func (e *events) rare() bool {
	return min(e.Starts, e.Takeovers, e.Refused, e.Conflicts, e.Again, e.Lost) < histories/100
}

func newModel(seed uint64, without guard) *model {
	m := &model{Rand: rand.New(rand.NewPCG(seed, 0)), without: without,
		nodes: []corev1.Node{queuetest.MakeNode("a", 8), queuetest.MakeNode("b", 4)}, total: 12}
	if n := m.Int64N(4); n > 0 {
		m.stranger = []corev1.Pod{pod("a", n, "")}
	}
	for range 2 {
		m.replicas = append(m.replicas, m.newReplica(m.skew()))
	}
	return m
}

func (m *model) skew() time.Duration { return time.Duration(m.IntN(61)-30) * time.Second }

// firstTrouble is the first step that is none of how things go when nothing is wrong.
const firstTrouble = 8

func (m *model) step(what int) {
	switch what {
	case 0, 1:
		m.work(m.one())
	case 2:
		m.pass(time.Duration(1+m.IntN(4)) * time.Second)
	case 3:
		m.makePod()
	case 4:
		m.end(m.any(func(r *modelled) bool { return r.ready && !r.ending }))
	case 5:
		m.removePod()
	case 6, 7:
		m.see()
	case 8, 9, 10, 11: // somebody submits
		m.submit()
	case 12: // somebody cancels
		m.end(m.any(func(r *modelled) bool { return !r.ending }))
	case 13, 14:
		m.force()
	case 15:
		m.away = !m.away && m.IntN(3) == 0
	case 16:
		m.loseTarget()
	case 17:
		if m.IntN(2) == 0 {
			m.endReplica(m.IntN(2))
		}
	case 18:
		m.pause()
	case 19:
		if m.IntN(2) == 0 {
			m.deleteNamespace(fmt.Sprintf("team%d", m.IntN(3)))
		} else { // a clock is set
			m.replicas[m.IntN(2)].skew = m.skew()
		}
	}
	m.check()
}

// calm ends what was wrong.
func (m *model) calm() {
	m.away, m.lost, m.stranger = false, false, nil
	for _, c := range m.replicas {
		m.resume(c)
	}
}

func (m *model) unfinished() *modelled {
	i := slices.IndexFunc(m.runs, func(r *modelled) bool { return !r.clean })
	if i < 0 {
		return nil
	}
	return m.runs[i]
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

func (m *model) nextVersion() int {
	m.versions++
	return m.versions
}

// named is the run whose PipelineRun has such a name.
func (m *model) named(namespace, name string) *modelled {
	for _, r := range m.runs {
		if r.is() && r.pr.Namespace == namespace && r.pr.Name == name {
			return r
		}
	}
	return nil
}

// submit makes a run, unless one of its name is there.
func (m *model) submit() {
	ns, name := fmt.Sprintf("team%d", m.IntN(3)), []string{"nightly", "nightly", "gate"}[m.IntN(3)]
	if gone := m.any(func(r *modelled) bool { return r.deleted }); gone != nil && m.IntN(2) == 0 {
		ns, name = gone.pr.Namespace, gone.pr.Name
		m.saw.Again++
	}
	if m.named(ns, name) != nil {
		return
	}
	count, each := 1+m.Int64N(3), 1+m.Int64N(4)
	pr := &tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name,
		Labels: map[string]string{contract.LabelRun: name},
		Annotations: map[string]string{contract.AnnotationRequests: fmt.Sprintf(`{%q:"%d"}`, gpu, count*each),
			contract.AnnotationPods: fmt.Sprintf(`[{"count":%d,"requests":{%q:"%d"}}]`, count, gpu, each)}}}
	m.runs = append(m.runs, &modelled{pr: pr, urgent: m.IntN(3) == 0, version: m.nextVersion(), away: m.now,
		gpus: slices.Repeat([]int64{each}, int(count))})
}

// makePod puts the next pod of a run on a node that has room, as a scheduler does.
func (m *model) makePod() {
	r := m.any(func(r *modelled) bool { return r.ready && !r.ending && !r.held && r.made < len(r.gpus) })
	if r == nil {
		return
	}
	free := map[string]int64{}
	for _, n := range m.nodes {
		free[n.Name] = n.Status.Allocatable.Name(gpu, resource.DecimalSI).Value()
	}
	for _, p := range m.pods() {
		free[p.Spec.NodeName] -= heldBy(p)
	}
	for _, n := range m.nodes {
		if free[n.Name] >= r.gpus[r.made] {
			p := pod(n.Name, r.gpus[r.made], run.ID(r.pr))
			p.Namespace = r.pr.Namespace
			r.pods = append(slices.Clone(r.pods), p)
			r.made++
			return
		}
	}
}

// pods are all that are on the target.
func (m *model) pods() []corev1.Pod {
	all := slices.Clone(m.stranger)
	for _, r := range m.runs {
		all = append(all, r.pods...)
	}
	return all
}

func heldBy(p corev1.Pod) int64 {
	return p.Spec.Containers[0].Resources.Limits.Name(gpu, resource.DecimalSI).Value()
}

func (m *model) end(r *modelled) {
	if r == nil {
		return
	}
	r.ending = true
	r.version = m.nextVersion()
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
	r.annotate(contract.AnnotationFreed, contract.AnnotationReleased)
	m.dirty = slices.ContainsFunc(m.runs, func(r *modelled) bool { return run.Released(r.pr) && len(r.pods) > 0 })
}

// force releases a run whose pods do not go. Its PipelineRun may be deleted then, and another one have its name.
func (m *model) force() {
	if r := m.any(func(r *modelled) bool { return r.ending && len(r.pods) > 0 && !r.held && r.is() }); r != nil {
		m.dirty = true
		r.annotate(contract.AnnotationReleased)
		r.deleted = m.IntN(2) == 0
	}
}

// deleteNamespace ends the runs of a team; their pods go later.
func (m *model) deleteNamespace(ns string) {
	for _, r := range m.runs {
		if r.pr.Namespace == ns && r.is() {
			r.held = true
			m.end(r)
		}
	}
}

// check is what must always hold.
func (m *model) check() {
	claimed := int64(0)
	for _, p := range m.stranger {
		claimed += heldBy(p)
	}
	for _, r := range m.runs {
		if run.Released(r.pr) && len(r.pods) > 0 && !m.dirty {
			m.wrong = fmt.Sprintf("run %s was released with %d pods, and the target is not marked", r, len(r.pods))
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

package check

import (
	"cmp"
	"slices"
	"time"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Times of the election of a leader, as of queue/controller.
const (
	leaseDuration = 15 * time.Second
	leaseGood     = 13 * time.Second // after it was renewed, for who holds it
	stoodStill    = 8 * time.Second
	renewDeadline = 10 * time.Second
)

// lease is that of the leader.
type lease struct {
	holder  *replica
	version int
	stamp   time.Duration // by the clock of who wrote it
}

// replica is a controller, what it has seen, and what it is about to write.
type replica struct {
	skew    time.Duration // of its clock
	paused  bool
	began   time.Duration // when it began or went on
	woke    time.Duration // when it went on after it had stood still; below zero for never
	ready   time.Duration // when it last could have taken the Lease
	leads   bool          // as far as it knows
	ends    time.Duration // when it notices that it does not lead; only without guard term
	renewed time.Duration
	watched int           // version of the Lease
	since   time.Duration // when it saw that version first

	runs    []known
	dirty   bool
	pods    []corev1.Pod
	sighted bool

	answers []answer          // decided and not written
	written map[*modelled]int // the version of a Workload that it answered
}

// known is a run as a cache shows it.
type known struct {
	*modelled
	pr            *tektonv1.PipelineRun
	version       int
	away          time.Duration
	ready, ending bool
}

func (k known) priority() int {
	if k.urgent {
		return 1
	}
	return 0
}

// answer is for a Workload as it was.
type answer struct {
	known
	Decision
}

// newReplica is a process that has just begun, with full caches.
func (m *model) newReplica(skew time.Duration) *replica {
	c := &replica{skew: skew, began: m.now, woke: -leaseDuration, ready: -leaseDuration, since: m.now, watched: -1}
	if !m.lost {
		m.look(c)
	}
	m.sync(c)
	return c
}

// one is a replica that does not stand still, nil where there is none.
func (m *model) one() *replica {
	if c := m.replicas[m.IntN(len(m.replicas))]; !c.paused {
		return c
	}
	return nil
}

// see lets a replica see what there is: on the hub, or on the target.
func (m *model) see() {
	c := m.one()
	switch {
	case c == nil:
	case m.IntN(2) == 0:
		m.sync(c)
	case !m.away && !m.lost:
		m.look(c)
	}
}

func (m *model) sync(c *replica) {
	c.runs = c.runs[:0]
	for _, r := range m.runs {
		if r.is() && !run.Released(r.pr) {
			c.runs = append(c.runs, known{r, r.pr, r.version, r.away, r.ready, r.ending || r.held})
		}
	}
	slices.SortStableFunc(c.runs, func(a, b known) int { return cmp.Compare(b.priority(), a.priority()) })
	c.dirty = m.dirty
}

func (m *model) look(c *replica) { c.pods, c.sighted = m.pods(), true }

// loseTarget takes the Secret of the target away, or gives it back: what is known of the target begins anew.
func (m *model) loseTarget() {
	if m.lost = !m.lost && m.IntN(3) == 0; !m.lost {
		return
	}
	m.saw.Lost++
	for _, c := range m.replicas {
		c.pods, c.sighted = nil, false
	}
}

// endReplica ends a process, between two answers maybe, and another one begins.
func (m *model) endReplica(i int) { m.replicas[i] = m.newReplica(m.replicas[i].skew) }

// handOver ends a process that gives its Lease back; one that stood still goes on and may take it.
func (m *model) handOver(from, to int) {
	if c := m.replicas[from]; m.lease.holder == c && !c.paused {
		m.lease = lease{version: m.lease.version + 1}
	}
	m.endReplica(from)
	c := m.replicas[to]
	m.resume(c)
	m.elect(c)
	for range 3 {
		m.work(c)
	}
}

// pause has a replica stand still, or go on. It may be about to write what it has decided; meanwhile the other one
// works.
func (m *model) pause() {
	i := m.IntN(len(m.replicas))
	c, other := m.replicas[i], m.replicas[1-i]
	if c.paused {
		m.resume(c)
		return
	}
	m.submit()
	m.sync(c)
	if c.leads && len(c.answers) == 0 && !m.lost {
		m.decide(c)
	}
	c.paused, c.began = true, m.now
	m.pass(time.Duration(m.IntN(30)) * time.Second)
	if other.paused {
		return
	}
	m.submit()
	m.submit()
	m.sync(other)
	for range 5 {
		m.work(other)
	}
	if m.IntN(2) == 0 {
		m.handOver(1-i, i)
	}
}

func (m *model) resume(c *replica) {
	if !c.paused {
		return
	}
	if m.now-c.began > stoodStill {
		c.woke = m.now
	}
	c.paused, c.began = false, m.now
	c.ends = m.now + renewDeadline
}

// pass lets time pass, in which replicas renew the Lease and ask for it.
func (m *model) pass(d time.Duration) {
	for end := m.now + d; m.now < end; {
		m.now += min(2*time.Second, end-m.now)
		for _, c := range m.replicas {
			if !c.paused {
				m.elect(c)
			}
		}
	}
}

// elect is what client-go does every few seconds.
func (m *model) elect(c *replica) {
	if m.lease.version != c.watched {
		c.watched, c.since = m.lease.version, m.now
	}
	switch {
	case c.leads && m.lease.holder == c:
		m.hold(c)
	case c.leads && m.without == term && m.now < c.ends: // it tries to renew until then
	case c.leads && m.now-c.renewed < leaseGood && m.IntN(8) > 0: // likewise
	case c.leads: // the process ends
		*c = *m.newReplica(c.skew)
	case !m.expired(c):
	case m.without == fresh: // its cache shows what it showed
		m.lead(c)
	case m.now-c.woke < leaseDuration:
	case c.ready < c.began || m.now-c.ready > stoodStill:
		c.ready = m.now // it looks again, and its cache has caught up until then
	default:
		m.sync(c)
		m.lead(c)
	}
}

func (m *model) lead(c *replica) {
	m.saw.Takeovers++
	c.leads = true
	m.hold(c)
}

func (m *model) hold(c *replica) {
	m.lease = lease{holder: c, version: m.lease.version + 1, stamp: m.now + c.skew}
	c.renewed, c.watched, c.since = m.now, m.lease.version, m.now
}

func (m *model) expired(c *replica) bool {
	switch {
	case m.lease.holder == nil:
		return true
	case m.without == ownClock:
		return m.now+c.skew-m.lease.stamp >= leaseDuration
	}
	return m.now-c.since >= leaseDuration
}

// work lets a replica that leads answer a run, or decide for all that wait.
func (m *model) work(c *replica) {
	switch {
	case c == nil || !c.leads:
	case len(c.answers) > 0:
		m.write(c)
	case !m.lost:
		m.decide(c)
	}
}

// write writes one answer. One that cannot be written stops the rest.
func (m *model) write(c *replica) {
	a := c.answers[0]
	c.answers = c.answers[1:]
	if m.without != term && m.now-c.renewed >= leaseGood {
		m.saw.Refused++
		c.answers = nil
		return
	}
	r := a.modelled
	if m.without == versions {
		r = m.named(a.pr.Namespace, a.pr.Name)
	}
	if r == nil || m.without != versions && (!r.is() || r.version != a.version) {
		m.saw.Conflicts++
		c.answers = nil
		return
	}
	c.written[r] = a.version
	r.version = m.nextVersion()
	switch a.State {
	case kueue.CheckStateRetry:
		r.away = m.now + a.Requeue
	case kueue.CheckStateReady:
		m.saw.Starts++
		r.ready = true
		if r.ending {
			m.wrong = "run " + r.String() + " was let start after its end"
		}
	}
}

// decide is Reconciler.judge, of what a cache shows. Only answers that change something are written.
func (m *model) decide(c *replica) {
	var granted []*tektonv1.PipelineRun
	var waiting []Waiting
	var asked []known
	for _, r := range c.runs {
		switch {
		case r.ready:
			granted = append(granted, r.pr)
		case r.ending || m.now < r.away:
		case c.written[r.modelled] == r.version: // the cache has not caught up
			return
		default:
			shapes, err := run.Shapes(r.pr)
			waiting = append(waiting, Waiting{Run: run.ID(r.pr), Shapes: shapes, Invalid: err, Reserved: now.Add(r.away)})
			asked = append(asked, r)
		}
	}
	if len(waiting) == 0 {
		return
	}
	c.written = map[*modelled]int{}
	for i, d := range Decide(now.Add(m.now+c.skew), m.sight(c, granted), waiting) {
		if d.State != kueue.CheckStatePending {
			c.answers = append(c.answers, answer{asked[i], d})
		}
	}
}

// sight is what a replica knows of the target.
func (m *model) sight(c *replica, granted []*tektonv1.PipelineRun) Sight {
	s := Sight{Target: "t", Reach: view.Reach{Up: !m.away, Since: now.Add(m.now - time.Second)}}
	if !c.sighted && m.without != sighted {
		return s
	}
	s.Inventory = devices.Of(m.nodes, nil)
	s.Inventory.Hold(c.pods, nil, func(namespace string, labels map[string]string) devices.Holder {
		key := m.key(&metav1.ObjectMeta{Namespace: namespace, Name: labels[contract.LabelRun]})
		if slices.ContainsFunc(granted, func(pr *tektonv1.PipelineRun) bool { return m.key(pr) == key }) {
			return devices.Holder{Run: key}
		}
		return devices.Holder{}
	})
	held := map[types.NamespacedName]devices.Amounts{}
	for _, pr := range granted {
		held[run.Key(pr)] = s.Inventory.Held[m.key(pr)]
	}
	s.Assumed = assumed(granted, held)
	if c.dirty && m.without != marked {
		s.Dirty = "a run"
	}
	return s
}

// key tells runs apart.
func (m *model) key(o metav1.Object) types.NamespacedName {
	if m.without == names {
		return types.NamespacedName{Name: run.ID(o)}
	}
	return run.Key(o)
}

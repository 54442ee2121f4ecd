package placement

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/queue/capacity"
	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// cacheLifetime is how long a target is taken to keep what a run has left there: weights on nodes, images.
const cacheLifetime = 24 * time.Hour

// site is a target, as far as it is the same for all runs.
type site struct {
	name      string
	labels    map[string]string
	unfit     string
	inventory *devices.Inventory
	promised  devices.Amounts
	assumed   []devices.Shape
	warm      map[string]bool // keys of caches
	lacks     map[string]string
	frees     map[string]bool
}

// turn is the place of a run in a queue: before others that have less priority or came later.
type turn struct {
	priority int32
	since    time.Time
	uid      types.UID
}

func (a turn) compare(b turn) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), a.since.Compare(b.since), cmp.Compare(a.uid, b.uid))
}

// snapshot is what is known when runs are judged together.
type snapshot struct {
	sites  []*site
	queues map[string]bool   // namespace/name of LocalQueues that are there
	turns  map[string][]turn // by name of the queue, in order
}

// readSnapshot reads what is known from caches. soonest is when a target that does not answer has been so for long.
func (r *TargetReconciler) readSnapshot(ctx context.Context, runs []tektonv1.PipelineRun,
	workloads []kueue.Workload) (snap *snapshot, soonest time.Duration, err error) {
	snap = &snapshot{queues: map[string]bool{}, turns: map[string][]turn{}}
	var locals kueue.LocalQueueList
	if err := r.client.List(ctx, &locals, client.UnsafeDisableDeepCopy); err != nil {
		return nil, 0, fmt.Errorf("listing queues: %w", err)
	}
	for i := range locals.Items {
		snap.queues[locals.Items[i].Namespace+"/"+locals.Items[i].Name] = true
	}
	for i := range workloads {
		if wl := &workloads[i]; isQueued(wl) {
			snap.turns[string(wl.Spec.QueueName)] = append(snap.turns[string(wl.Spec.QueueName)], turnOf(wl))
		}
	}
	for _, turns := range snap.turns {
		slices.SortFunc(turns, turn.compare)
	}
	owner, err := capacity.Owner(ctx, r.client, r.hub)
	if err != nil {
		return nil, 0, err
	}
	for _, t := range r.targets.All() {
		if t.Name == contract.TargetLocal { // its tasks are made in another way: such a run names it alone
			continue
		}
		s, wait, err := r.readSite(ctx, t, owner, runs)
		if err != nil {
			return nil, 0, err
		}
		if wait > 0 && (soonest == 0 || wait < soonest) {
			soonest = wait
		}
		snap.sites = append(snap.sites, s)
	}
	return snap, soonest, nil
}

// readSite reads one target. wait is how long until it has not answered for long.
func (r *TargetReconciler) readSite(ctx context.Context, t target.Target, owner devices.Owner,
	runs []tektonv1.PipelineRun) (s *site, wait time.Duration, err error) {
	s = &site{name: t.Name, warm: map[string]bool{}, lacks: map[string]string{}, frees: map[string]bool{}}
	flavor, queue := &kueue.ResourceFlavor{}, &kueue.ClusterQueue{}
	for _, o := range []client.Object{flavor, queue} {
		if err := r.client.Get(ctx, client.ObjectKey{Name: t.Name}, o); client.IgnoreNotFound(err) != nil {
			return nil, 0, fmt.Errorf("reading what target %q has: %w", t.Name, err)
		}
	}
	s.labels, s.promised = flavor.Labels, capacity.Promised(queue.Spec.ResourceGroups)
	if t.Sight != nil && t.Sight.Ready() {
		if s.inventory, err = t.Sight.Inventory(ctx, owner); err != nil {
			return nil, 0, err
		}
		s.noteRuns(runs, r.clock.Now())
	}
	s.unfit, wait = r.unfit(t, flavor, queue)
	return s, wait, nil
}

// unfit is why no run can go to a target now, in half a sentence.
func (r *TargetReconciler) unfit(t target.Target, flavor *kueue.ResourceFlavor,
	queue *kueue.ClusterQueue) (why string, wait time.Duration) {
	switch {
	case queue.Name == "":
		return "has no queue", 0
	case queue.Spec.StopPolicy != nil && *queue.Spec.StopPolicy != kueue.None:
		return "lets nothing start", 0
	case flavor.Annotations[contract.AnnotationDirty] != "":
		return "may still hold devices of a run that was released by force", 0
	case t.Sight == nil:
		return "is not looked at", 0
	}
	if reach := t.Sight.Reach(); !reach.Since.IsZero() && !reach.Up {
		if left := reach.Since.Add(OutageGrace).Sub(r.clock.Now()); left > 0 && t.Sight.Ready() {
			return "", left
		}
		return "has not answered since " + reach.Since.UTC().Format(time.TimeOnly+" UTC"), 0
	}
	if !t.Sight.Ready() {
		return "has not been seen yet", 0
	}
	return "", 0
}

// noteRuns notes what runs hold, are about to hold, and have left on the target.
func (s *site) noteRuns(runs []tektonv1.PipelineRun, now time.Time) {
	for i := range runs {
		pr := &runs[i]
		if !run.Started(pr) || run.Target(pr) != s.name {
			continue
		}
		if at, err := time.Parse(time.RFC3339, pr.Annotations[contract.AnnotationAdmitted]); err == nil &&
			now.Sub(at) < cacheLifetime {
			s.warm[pr.Annotations[contract.AnnotationCacheKey]] = true
		}
		if run.Holding(pr) && !run.Freed(pr) && !run.Over(pr) {
			if shapes, err := run.Shapes(pr); err == nil {
				s.assumed = append(s.assumed, devices.Missing(shapes, s.inventory.Held[run.Key(pr)])...)
			}
		}
	}
	delete(s.warm, "")
}

// lack is why the target cannot hold a run now. Runs of one experiment ask for the same.
func (s *site) lack(pr *tektonv1.PipelineRun) string {
	if s.inventory == nil {
		return ""
	}
	key := asks(pr)
	if why, known := s.lacks[key]; known {
		return why
	}
	why := ""
	demand, err := run.Demand(pr)
	shapes, shapesErr := run.Shapes(pr)
	if err == nil && shapesErr == nil {
		wants := Wants{All: devices.Amounts{}, Pods: shapes}
		for name, q := range demand {
			wants.All[string(name)] = q.Value()
		}
		if lack := Judge(s.name, wants, s.promised, s.inventory); lack.Why != "" {
			why = "is too small: the run " + lack.Why
		}
	}
	s.lacks[key] = why
	return why
}

// asks is the same for runs that ask for the same.
func asks(pr *tektonv1.PipelineRun) string {
	return pr.Annotations[contract.AnnotationRequests] + " " + pr.Annotations[contract.AnnotationPods]
}

// hasRoom says whether there is room for a run beside what holds devices, or is about to.
func (s *site) hasRoom(pr *tektonv1.PipelineRun) bool {
	if s.inventory == nil {
		return false
	}
	free, known := s.frees[asks(pr)]
	if known {
		return free
	}
	if shapes, err := run.Shapes(pr); err == nil {
		free = s.inventory.Room(shapes, s.assumed).Enough
	}
	s.frees[asks(pr)] = free
	return free
}

// place is the target as it looks to a run.
func (s *snapshot) place(at *site, pr *tektonv1.PipelineRun, mine turn, wish int) Place {
	p := Place{Name: at.name, Unfit: at.unfit, Warm: at.warm[pr.Annotations[contract.AnnotationCacheKey]], Wish: wish}
	if p.Unfit == "" && !s.queues[pr.Namespace+"/"+at.name] {
		p.Unfit = fmt.Sprintf("has no queue in namespace %q", pr.Namespace)
	}
	if p.Unfit == "" {
		p.Unfit = at.lack(pr)
	}
	p.Waiting, _ = slices.BinarySearchFunc(s.turns[at.name], mine, turn.compare)
	p.Free = at.hasRoom(pr)
	return p
}

// move notes where a run goes, for those that are judged after it.
func (s *snapshot) move(mine turn, from, to string) {
	if at, there := slices.BinarySearchFunc(s.turns[from], mine, turn.compare); there {
		s.turns[from] = slices.Delete(s.turns[from], at, at+1)
	}
	at, _ := slices.BinarySearchFunc(s.turns[to], mine, turn.compare)
	s.turns[to] = slices.Insert(s.turns[to], at, mine)
}

// isQueued says whether a Workload stands in a queue without quota.
func isQueued(wl *kueue.Workload) bool {
	return wl.DeletionTimestamp.IsZero() && isActive(wl) &&
		!apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished) && !hasQuota(wl)
}

func isActive(wl *kueue.Workload) bool { return wl.Spec.Active == nil || *wl.Spec.Active }

func hasQuota(wl *kueue.Workload) bool {
	return apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadQuotaReserved)
}

func turnOf(wl *kueue.Workload) turn {
	t := turn{since: wl.CreationTimestamp.Time, uid: wl.UID}
	if wl.Spec.Priority != nil {
		t.priority = *wl.Spec.Priority
	}
	if owner := metav1.GetControllerOfNoCopy(wl); owner != nil {
		t.uid = owner.UID
	}
	return t
}

// wishes are the names that a run gives, in their order.
func wishes(pr *tektonv1.PipelineRun) []string {
	return strings.FieldsFunc(pr.Annotations[contract.AnnotationTargets],
		func(r rune) bool { return r == ',' || r == ' ' })
}

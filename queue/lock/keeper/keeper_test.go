package keeper_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bflow.dev/bflow/queue/lock"
	"bflow.dev/bflow/queue/lock/keeper"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// lab is a target that some hubs use, in a bubble of its own time.
type lab struct {
	t      *testing.T
	target client.WithWatch
}

func newLab(t *testing.T) *lab {
	return &lab{t, queuetest.Builder(t).WithObjects(queuetest.RunNamespace()).Build()}
}

// hub is one of them.
type hub struct {
	lab     *lab
	name    string
	client  client.WithWatch
	cache   client.Client
	keepers *keeper.Keepers
	targets *target.Registry
	cut     atomic.Bool // its way to the target
	stop    context.CancelFunc
	skew    time.Duration
}

// skewed is a clock that goes wrong by a constant.
type skewed struct {
	clock.RealClock
	by time.Duration
}

func (s skewed) Now() time.Time { return s.RealClock.Now().Add(s.by) }

func (l *lab) hub(name string, skew time.Duration) *hub {
	h := &hub{lab: l, name: name, skew: skew, client: queuetest.Builder(l.t).WithObjects(queuetest.RunNamespace()).Build()}
	h.cache = h.client
	h.start()
	return h
}

// start begins a controller that remembers nothing.
func (h *hub) start() {
	fail := func() error {
		if h.cut.Load() {
			return errors.New("no route to host")
		}
		return nil
	}
	way := interceptor.NewClient(h.lab.target, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object,
			opts ...client.GetOption) error {
			return errors.Join(fail(), c.Get(ctx, key, obj, opts...))
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			if err := fail(); err != nil {
				return err
			}
			return c.Update(ctx, obj, opts...)
		},
	})
	h.targets = target.NewRegistry(target.Target{Name: "lab", Live: way})
	h.keepers = keeper.New(keeper.Options{
		Hub: h.name, Targets: h.targets, Cache: h.cache, Live: h.client,
		Log: slog.New(slog.DiscardHandler), Clock: skewed{by: h.skew},
	})
	ctx, cancel := context.WithCancel(h.lab.t.Context())
	h.stop = cancel
	go h.keepers.Start(ctx)
}

// ask is one round of the check with one run.
func (h *hub) ask(q lock.Request, claims ...lock.Request) lock.Answer {
	h.lab.t.Helper()
	door, err := h.keepers.Door(h.lab.t.Context(), "lab", claims)
	if err != nil {
		h.lab.t.Fatal(err)
	}
	var a lock.Answer
	if q.Run != "" {
		a = door.Ask(q)
	}
	door.Close()
	return a
}

// let is a run that is granted and let start.
func (h *hub) let(name, key string) {
	h.lab.t.Helper()
	q := lock.Request{Run: "bench/" + name, Key: key, Queued: time.Now().Add(h.skew)}
	for !h.ask(q).Granted {
		time.Sleep(time.Second)
	}
	fence, err := h.keepers.Fence("lab", key)
	if err != nil {
		h.lab.t.Fatal(err)
	}
	pr := &tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "bench",
		Labels: map[string]string{contract.LabelPlanHash: "h", contract.LabelTarget: "lab", contract.LabelQueue: "lab"},
		Annotations: map[string]string{contract.AnnotationSetupKey: key, contract.AnnotationAdmitted: "now",
			contract.AnnotationFence: strconv.FormatInt(fence, 10)}}}
	h.lab.must(h.client.Create(h.lab.t.Context(), pr))
	h.ask(lock.Request{})
}

// end is a run that is released.
func (h *hub) end(name string) {
	h.lab.t.Helper()
	h.lab.must(h.client.Delete(h.lab.t.Context(), &tektonv1.PipelineRun{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "bench"}}))
	h.ask(lock.Request{})
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) lease() *coordinationv1.Lease {
	l.t.Helper()
	obj := &coordinationv1.Lease{}
	l.must(l.target.Get(l.t.Context(), client.ObjectKey{Namespace: contract.NamespaceSystem, Name: contract.LeasePlatform},
		obj))
	return obj
}

// pod puts a pod of a run of a hub on the target.
func (l *lab) pod(hub string) *corev1.Pod {
	l.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "engine-" + hub, Namespace: "bench", Labels: map[string]string{
		contract.LabelHub: hub, contract.LabelRelease: "r", contract.LabelRun: "r"}}}
	l.must(l.target.Create(l.t.Context(), pod))
	return pod
}

func (l *lab) expect(holder, key string, fence int64) {
	l.t.Helper()
	obj := l.lease()
	if *obj.Spec.HolderIdentity != holder || obj.Annotations[contract.AnnotationSetupKey] != key ||
		obj.Annotations[contract.AnnotationFence] != strconv.FormatInt(fence, 10) {
		l.t.Fatalf("the Lease is held by %q with %v, want %q with %q by %d", *obj.Spec.HolderIdentity, obj.Annotations,
			holder, key, fence)
	}
}

func (l *lab) fence() int64 {
	n, err := strconv.ParseInt(l.lease().Annotations[contract.AnnotationFence], 10, 64)
	l.must(err)
	return n
}

func TestAHubTakesRenewsAndFreesTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		a := l.hub("a", 0)
		defer a.stop()
		a.let("r1", "k")
		fence := l.fence()
		l.expect("a", "k", fence)
		before := l.lease().Spec.RenewTime
		time.Sleep(2 * lock.LeaseDuration)
		synctest.Wait()
		if !l.lease().Spec.RenewTime.After(before.Time) {
			t.Error("it is not renewed")
		}
		if _, err := a.keepers.Fence("lab", "k"); err != nil {
			t.Error(err)
		}
		a.end("r1")
		time.Sleep(time.Second)
		synctest.Wait()
		l.expect("", "", fence)
		a.let("r2", "l")
		l.expect("a", "l", fence+1)
	})
}

func TestTwoHubsExcludeEachOtherWhateverTheirClocks(t *testing.T) {
	for _, skew := range []time.Duration{-2 * time.Minute, 0, 2 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t)
			a, b := l.hub("a", 0), l.hub("b", skew)
			defer a.stop()
			defer b.stop()
			a.let("r1", "k")
			l.pod("a")
			fence := l.fence()
			began := false
			go func() {
				b.let("r2", "k")
				began = true
			}()
			time.Sleep(20 * time.Minute)
			synctest.Wait()
			if began {
				t.Fatalf("skew %v: b starts beside a", skew)
			}
			l.must(l.target.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace("bench")))
			a.end("r1")
			time.Sleep(time.Minute)
			synctest.Wait()
			if !began {
				t.Fatalf("skew %v: b never starts", skew)
			}
			l.expect("b", "k", fence+1)
		})
	}
}

func TestACrashedHolderIsTakenOverWhenNothingOfItIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		a, b := l.hub("a", time.Minute), l.hub("b", -time.Minute)
		defer b.stop()
		a.let("r1", "k")
		pod := l.pod("a")
		fence := l.fence()
		a.stop()
		q := lock.Request{Run: "bench/r2", Key: "l", Queued: time.Now()}
		for range 30 {
			if b.ask(q).Granted {
				t.Fatal("b starts though a pod of a is alive")
			}
			time.Sleep(time.Minute)
		}
		if a := b.ask(
			q); a.Reason != `Hub a has not renewed its lock of target "lab"; it is taken over when none of its pods is `+
			`left there` {
			t.Error(a.Reason)
		}
		l.must(l.target.Delete(t.Context(), pod))
		gone := time.Now()
		b.let("r2", "l")
		if took := time.Since(gone); took < lock.LeaseDuration {
			t.Errorf("b starts after %v", took)
		}
		l.expect("b", "l", fence+1)
	})
}

func TestWhoWaitsIsJudgedAnewWhenTheHolderIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		a, b := l.hub("a", 0), l.hub("b", 0)
		defer b.stop()
		a.let("r1", "k")
		l.pod("a")
		b.ask(lock.Request{Run: "bench/r2", Key: "l", Queued: time.Now()})
		var told atomic.Int64
		changes := b.targets.Changes()
		go func() {
			for {
				select {
				case <-changes:
					told.Add(1)
				case <-t.Context().Done():
					return
				}
			}
		}()
		time.Sleep(lock.LeaseDuration / 2)
		a.stop()
		time.Sleep(lock.LeaseDuration / 2)
		before := told.Load()
		time.Sleep(lock.LeaseDuration)
		if told.Load() == before {
			t.Error("nobody was told")
		}
	})
}

func TestAHubThatIsCutOffStopsGrantingFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		a, b := l.hub("a", 0), l.hub("b", 0)
		defer a.stop()
		defer b.stop()
		a.let("r1", "k")
		cut := time.Now()
		a.cut.Store(true)
		refused := time.Duration(0)
		q := lock.Request{Run: "bench/r2", Key: "l", Queued: time.Now()}
		for !b.ask(q).Granted {
			if _, err := a.keepers.Fence("lab", "k"); err != nil && refused == 0 {
				refused = time.Since(cut)
			}
			time.Sleep(time.Second)
		}
		if refused == 0 || refused > lock.RenewDeadline+time.Second || time.Since(cut) < 2*lock.LeaseDuration {
			t.Errorf("a stops granting after %v, b begins after %v", refused, time.Since(cut))
		}
		if a := a.ask(lock.Request{Run: "bench/r3", Key: "k", Queued: time.Now()}); a.Granted {
			t.Error("a grants")
		}
	})
}

func TestAControllerThatStartsAgainGoesOnOrLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		a := l.hub("a", 0)
		a.let("r1", "k")
		fence := l.fence()
		a.stop()
		time.Sleep(3 * lock.LeaseDuration)
		a.start()
		time.Sleep(time.Second)
		synctest.Wait()
		l.expect("a", "k", fence)
		if got, err := a.keepers.Fence("lab", "k"); err != nil || got != fence {
			t.Errorf("fence %d, %v", got, err)
		}
		a.stop()
		l.must(a.client.Delete(t.Context(), &tektonv1.PipelineRun{
			ObjectMeta: metav1.ObjectMeta{Name: "r1", Namespace: "bench"}}))
		a.start()
		defer a.stop()
		time.Sleep(time.Second)
		synctest.Wait()
		l.expect("", "", fence)
	})
}

func TestACacheThatLagsLetsNoKeyGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		a := l.hub("a", 0)
		a.let("r1", "k")
		fence := l.fence()
		a.stop()
		a.cache = queuetest.Builder(t).WithObjects(queuetest.RunNamespace()).Build() // it shows no run yet
		a.start()
		defer a.stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		l.expect("a", "k", fence)
		if a := a.ask(lock.Request{Run: "bench/r2", Key: "l", Queued: time.Now()}); a.Granted {
			t.Error("it grants another key")
		}
	})
}

func TestRunsWithoutAKeyNeedNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		a := l.hub("a", 0)
		defer a.stop()
		q := lock.Request{Run: "bench/r1", Queued: time.Now()}
		for !a.ask(q).Granted {
			time.Sleep(time.Second)
		}
		var leases coordinationv1.LeaseList
		l.must(l.target.List(t.Context(), &leases))
		if len(leases.Items) != 0 {
			t.Error("a Lease is made")
		}
	})
}

func TestTheKeyOfARun(t *testing.T) {
	for _, row := range []struct {
		name, requests, setup, want string
	}{
		{"no shared state", `{"bflow.dev/cluster-slot":"1"}`, "", ""},
		{"a setup key", `{"bflow.dev/cluster-slot":"1"}`, "llm-d/istio/v0.5", "llm-d/istio/v0.5"},
		{"all slots are the target alone", `{"bflow.dev/cluster-slot": "100", "nvidia.com/gpu":"8"}`, "llm-d/istio/v0.5",
			"exclusive/bench/r"},
	} {
		pr := &tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "bench",
			Annotations: map[string]string{contract.AnnotationRequests: row.requests, contract.AnnotationSetupKey: row.setup}}}
		if got := keeper.KeyOf(pr); got != row.want {
			t.Errorf("%s: %q", row.name, got)
		}
	}
}

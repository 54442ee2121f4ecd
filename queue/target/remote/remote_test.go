package remote

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const agent = "/api/v1/namespaces/bflow-system/serviceaccounts/bflow-agent"

// world is a hub with a Secret per target.
type world struct {
	t         *testing.T
	hub       client.Client
	targets   *target.Registry
	clock     *clocktesting.FakeClock
	connector *Connector
	renewer   *Renewer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := queuetest.Scheme(t)
	w := &world{t: t, hub: queuetest.Builder(t).Build(), targets: target.NewRegistry(),
		clock: clocktesting.NewFakeClock(time.Now())}
	w.connector = NewConnector(t.Context(), w.hub, w.targets, scheme, w.clock)
	w.renewer = NewRenewer(w.hub, w.targets, w.clock)
	return w
}

// cluster is one that can be a target.
func cluster(t *testing.T) *apitest.Server {
	s := apitest.New(t, "bench", contract.NamespaceSystem)
	s.Put(agent, apitest.Object{})
	s.Put("/api/v1/namespaces/bench/serviceaccounts/bflow-runner", apitest.Object{})
	return s
}

func (w *world) add(name string, s *apitest.Server, token string, life time.Duration) {
	w.t.Helper()
	kubeconfig, err := target.NewKubeconfig(clientcmdapi.Cluster{Server: s.URL}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	now := w.clock.Now()
	secret, err := target.Credentials{Target: name, Kubeconfig: kubeconfig, Token: token, Nodes: "pool=gpu",
		LoadNodes: "pool=cpu", Expires: now.Add(life), Renew: now.Add(life / 2)}.Secret()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.hub.Create(w.t.Context(), secret.DeepCopy()); err != nil {
		if err := w.hub.Update(w.t.Context(), secret); err != nil {
			w.t.Fatal(err)
		}
	}
	w.connect(name)
}

func (w *world) connect(name string) {
	w.t.Helper()
	if _, err := w.connector.Reconcile(eventually.Context(w.t), request(name)); err != nil {
		w.t.Fatal(err)
	}
}

func request(name string) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: contract.NamespaceSystem,
		Name: contract.TargetCredentials(name)}}
}

func (w *world) find(name string) target.Target {
	w.t.Helper()
	found, err := w.targets.Find(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// grant asks until the target has answered.
func grant(t *testing.T, of target.Target, ask target.Ask) (g target.Grant, err error) {
	t.Helper()
	eventually.True(t, "the answer of the target", func() bool {
		g, err = of.Access(ask)
		return !errors.Is(err, target.ErrNotYet)
	})
	return g, err
}

func TestATargetLivesWithItsSecret(t *testing.T) {
	w, s := newWorld(t), cluster(t)
	w.add("far", s, "first", time.Hour)
	far := w.find("far")
	eventually.True(t, "that it is in sight", far.Sight.Ready)
	if err := far.Live.Get(t.Context(), client.ObjectKey{Name: "bench"}, &corev1.Namespace{}); err != nil {
		t.Errorf("reading there: %v", err)
	}
	before := w.connector.conns[contract.TargetCredentials("far")]
	w.connect("far") // nothing has changed
	if w.connector.conns[contract.TargetCredentials("far")] != before {
		t.Error("a Secret that did not change makes another connection")
	}
	other := cluster(t)
	w.add("far", other, "second", time.Hour)
	moved := w.find("far")
	other.Put("/api/v1/namespaces/only-there", apitest.Object{})
	if err := moved.Live.Get(t.Context(), client.ObjectKey{Name: "only-there"}, &corev1.Namespace{}); err != nil {
		t.Errorf("after it moved: %v", err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: contract.NamespaceSystem,
		Name: contract.TargetCredentials("far")}}
	if err := w.hub.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.connect("far")
	if _, err := w.targets.Find("far"); err == nil {
		t.Error("it is known without its Secret")
	}
	w.add("far", other, "third", time.Hour)
	if err := w.find("far").Live.Get(t.Context(), client.ObjectKey{Name: "only-there"}, &corev1.Namespace{}); err != nil {
		t.Errorf("with its Secret again: %v", err)
	}
}

// TestATargetThatIsAwayDelaysNobody: it is known at once, calls of it end at once, and others answer.
func TestATargetThatIsAwayDelaysNobody(t *testing.T) {
	w, dead, alive := newWorld(t), cluster(t), cluster(t)
	dead.Close()
	began := time.Now()
	w.add("dead", dead, "t", time.Hour)
	w.add("alive", alive, "t", time.Hour)
	if took := time.Since(began); took >= liveRequestTimeout { //nolint:forbidigo // who waits for an answer in vain waits for that long
		t.Errorf("adding them took %s", took)
	}
	eventually.True(t, "that one is in sight", w.find("alive").Sight.Ready)
	eventually.True(t, "that the other is away", func() bool { return !w.find("dead").Sight.Reach().Since.IsZero() })
	err := w.find("dead").Live.Get(t.Context(), client.ObjectKey{Name: "bench"}, &corev1.Namespace{})
	if err == nil || !strings.Contains(err.Error(), `target "dead" has not answered since`) { // which nobody asked it for
		t.Error(err)
	}
}

func TestTheTokenIsRenewedWithItself(t *testing.T) {
	w, s := newWorld(t), cluster(t)
	var good atomic.Value
	good.Store("first")
	s.Authenticate(func(token string) bool {
		return token == good.Load() || strings.HasPrefix(token, "token-bflow-system-bflow-agent")
	})
	w.add("far", s, "first", time.Hour)
	eventually.True(t, "that it is in sight", w.find("far").Sight.Ready)
	if r, err := w.renewer.Reconcile(t.Context(), request("far")); err != nil || r.RequeueAfter <= 29*time.Minute ||
		r.RequeueAfter > 30*time.Minute {
		t.Errorf("before half of its life: %v, %v", r, err)
	}
	w.clock.Step(31 * time.Minute)
	if _, err := w.renewer.Reconcile(t.Context(), request("far")); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{}
	if err := w.hub.Get(t.Context(), request("far").NamespacedName, secret); err != nil {
		t.Fatal(err)
	}
	c, err := target.ReadCredentials(secret)
	if err != nil || !strings.HasPrefix(c.Token, "token-bflow-system-bflow-agent-") ||
		c.Expires.Before(w.clock.Now().Add(target.AgentTokenLifetime-2*time.Hour)) || !c.Renew.Before(c.Expires) {
		t.Errorf("got %q until %s, renewed at %s: %v", c.Token, c.Expires, c.Renew, err)
	}
	good.Store("no more")
	before := w.connector.conns[contract.TargetCredentials("far")]
	w.connect("far")
	if err := w.find("far").Live.Get(t.Context(), client.ObjectKey{Name: "bench"}, &corev1.Namespace{}); err != nil {
		t.Errorf("with the new token: %v", err)
	}
	if w.connector.conns[contract.TargetCredentials("far")] != before {
		t.Error("a new token makes another connection")
	}
}

// TestAnAccountThatWasDeletedIsToldAndHealed: a person adds the target again, and nothing is made anew for that.
func TestAnAccountThatWasDeletedIsToldAndHealed(t *testing.T) {
	w, s := newWorld(t), cluster(t)
	var good atomic.Value
	good.Store("first")
	s.Authenticate(func(token string) bool { return token == good.Load() })
	w.add("far", s, "first", time.Hour)
	far := w.find("far")
	eventually.True(t, "that it is in sight", far.Sight.Ready)
	good.Store("second")
	w.connector.conns[contract.TargetCredentials("far")].sight.AskNow()
	eventually.True(t, "that it refuses", func() bool {
		return strings.Contains(far.Sight.Reach().Why, "bflow target add")
	})
	w.clock.Step(time.Hour)
	if r, err := w.renewer.Reconcile(t.Context(), request("far")); err != nil ||
		r.RequeueAfter != failedRenewalRetryDelay {
		t.Errorf("a token that is not taken: %v, %v", r, err)
	}
	w.add("far", s, "second", time.Hour)
	eventually.True(t, "that it answers", func() bool { return far.Sight.Reach().Up })
}

func TestARunGetsATokenOfItsOwn(t *testing.T) {
	w, s := newWorld(t), cluster(t)
	w.add("far", s, "first", time.Hour)
	far := w.find("far")
	began := time.Now()
	first, err := grant(t, far, target.Ask{Namespace: "bench", UID: "a", For: 2 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(first.Data[contract.KeyToken]), "token-bench-bflow-runner-") ||
		len(first.Data[contract.KeyKubeconfig]) == 0 {
		t.Errorf("got %q", first.Data)
	}
	if string(first.Data[contract.KeyNodes]) != "pool=gpu" || string(first.Data[contract.KeyLoadNodes]) != "pool=cpu" {
		t.Errorf("nodes %q, of loads %q", first.Data[contract.KeyNodes], first.Data[contract.KeyLoadNodes])
	}
	if first.Expires.Before(began.Add(110*time.Minute)) || first.Expires.After(time.Now().Add(2*time.Hour)) {
		t.Errorf("asked for at %s, it lives until %s", began, first.Expires)
	}
	if again, _ := grant(t, far, target.Ask{Namespace: "bench", UID: "a",
		For: 2 * time.Hour}); string(again.Data[contract.KeyToken]) != string(first.Data[contract.KeyToken]) {
		t.Error("it gets another one each time")
	}
	w.clock.Step(61 * time.Minute)
	if next, err := grant(t, far, target.Ask{Namespace: "bench", UID: "a", For: 2 * time.Hour}); err != nil ||
		string(next.Data[contract.KeyToken]) == string(first.Data[contract.KeyToken]) {
		t.Errorf("after half of its life it is the same: %v", err)
	}
	_, err = grant(t, far, target.Ask{Namespace: "elsewhere", UID: "b", For: time.Hour})
	if err == nil || !strings.Contains(err.Error(), `no namespace "elsewhere"; bflow target add with the same name`) {
		t.Errorf("a namespace that is not there: %v", err)
	}
	far.Forget("a")
	if known := w.connector.conns[contract.TargetCredentials("far")].minter.runs["a"]; known != nil {
		t.Error("a run that ended is remembered")
	}
}

// TestATokenEndsWithWhatItIsBoundTo: deleting that on the target is how a node that comes back is kept from deploying.
func TestATokenEndsWithWhatItIsBoundTo(t *testing.T) {
	w, s := newWorld(t), cluster(t)
	w.add("far", s, "first", time.Hour)
	far := w.find("far")
	ask := target.Ask{Namespace: "bench", Run: "r", UID: "a", For: 2 * time.Hour}
	if _, err := grant(t, far, ask); err != nil {
		t.Fatal(err)
	}
	const secret = "/api/v1/namespaces/bench/secrets/bflow-grant-a"
	bound := s.Bound("token-bench-bflow-runner-1")
	if bound["kind"] != "Secret" || bound["name"] != "bflow-grant-a" || s.Get(secret) == nil {
		t.Errorf("it is bound to %v; there is %v", bound, s.List("/api/v1/namespaces/bench/secrets/"))
	}
	w.clock.Step(61 * time.Minute)
	if _, err := grant(t, far, ask); err != nil {
		t.Errorf("a second token: %v", err)
	}
	s.Refuse(func(q apitest.Request) (int, string) {
		if q.Verb == "delete" {
			return http.StatusServiceUnavailable, "it is away"
		}
		return 0, ""
	})
	if err := far.Revoke(t.Context(), "bench", "a"); err == nil || s.Get(secret) == nil {
		t.Errorf("a target that cannot be asked says that it has ended: %v", err)
	}
	s.Refuse(nil)
	if err := far.Revoke(t.Context(), "bench", "a"); err != nil || s.Get(secret) != nil {
		t.Errorf("it is there: %v", err)
	}
	if err := far.Revoke(t.Context(), "bench", "a"); err != nil {
		t.Errorf("once more: %v", err)
	}
	if _, err := grant(t, far, ask); !errors.Is(err, errRevoked) || s.Get(secret) != nil {
		t.Errorf("it gets another one: %v", err)
	}
}

// TestATokenThatIsBeingMadeIsWaitedFor: it would outlive its end.
func TestATokenThatIsBeingMadeIsWaitedFor(t *testing.T) {
	w, s := newWorld(t), cluster(t)
	w.add("far", s, "first", time.Hour)
	far := w.find("far")
	eventually.True(t, "that it is in sight", far.Sight.Ready)
	goOn := make(chan struct{})
	s.Refuse(func(q apitest.Request) (int, string) {
		if q.Subresource == "token" {
			<-goOn
		}
		return 0, ""
	})
	ask := target.Ask{Namespace: "bench", Run: "r", UID: "a", For: 2 * time.Hour}
	if _, err := far.Access(ask); !errors.Is(err, target.ErrNotYet) {
		t.Fatal(err)
	}
	if err := far.Revoke(t.Context(), "bench", "a"); !errors.Is(err, target.ErrNotYet) {
		t.Errorf("got %v", err)
	}
	close(goOn)
	eventually.True(t, "its end", func() bool { return far.Revoke(t.Context(), "bench", "a") == nil })
	if left := s.List("/api/v1/namespaces/bench/secrets/"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestAnAccountThatWasMadeAnew: its old tokens are good no more, so that runs get others at once.
func TestAnAccountThatWasMadeAnew(t *testing.T) {
	w, s := newWorld(t), cluster(t)
	renewals := w.targets.Renewals()
	w.add("far", s, "first", time.Hour)
	far := w.find("far")
	<-renewals // the address itself is new
	eventually.True(t, "that it is in sight", far.Sight.Ready)
	ask := target.Ask{Namespace: "bench", UID: "a", For: 2 * time.Hour}
	first, err := grant(t, far, ask)
	if err != nil {
		t.Fatal(err)
	}
	s.Remove("/api/v1/namespaces/bench/serviceaccounts/bflow-runner")
	s.Put("/api/v1/namespaces/bench/serviceaccounts/bflow-runner", apitest.Object{})
	eventually.Receive(t, "the news that its tokens are good no more", renewals)
	second, err := grant(t, far, ask)
	if err != nil || string(second.Data[contract.KeyToken]) == string(first.Data[contract.KeyToken]) {
		t.Errorf("the token is the same: %v", err)
	}
}

// TestManyRunsAtOnce: nobody who asks waits, and each gets one token.
func TestManyRunsAtOnce(t *testing.T) {
	w, s := newWorld(t), cluster(t)
	w.add("far", s, "first", time.Hour)
	far := w.find("far")
	eventually.True(t, "that it is in sight", far.Sight.Ready)
	seen := map[string]bool{}
	answers := make(chan struct{})
	s.Refuse(func(apitest.Request) (int, string) { <-answers; return 0, "" })
	for i := range 40 {
		if _, err := far.Access(target.Ask{Namespace: "bench", UID: uid(i),
			For: time.Hour}); !errors.Is(err, target.ErrNotYet) {
			t.Fatalf("who asks waits for an answer that does not come: %v", err)
		}
	}
	close(answers)
	for i := range 40 {
		g, err := grant(t, far, target.Ask{Namespace: "bench", UID: uid(i), For: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		seen[string(g.Data[contract.KeyToken])] = true
	}
	if len(seen) != 40 {
		t.Errorf("%d tokens for 40 runs", len(seen))
	}
}

func uid(i int) types.UID { return types.UID(fmt.Sprint(i)) }

package controller

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan/contract"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clocktesting "k8s.io/utils/clock/testing"
)

// paper is a Lease that only one test writes to.
type paper struct {
	holder string
	fail   error
	before func() // what happens while a request is on its way
}

func (p *paper) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: p.holder}, nil, p.fail
}

func (p *paper) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return p.Update(ctx, r)
}

func (p *paper) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	if p.before != nil {
		p.before()
	}
	if p.fail == nil {
		p.holder = r.HolderIdentity
	}
	return p.fail
}

func (p *paper) RecordEvent(string) {}
func (p *paper) Identity() string   { return "us" }
func (p *paper) Describe() string   { return "paper" }

// elector is a replica that asks for the Lease when a test says so. A Lease is 15 s long, and good for 13 of them.
type elector struct {
	t     *testing.T
	lead  *lead
	paper *paper
	clock *clocktesting.FakePassiveClock
	lost  error
	sent  atomic.Int64 // requests that reached the server
	serve *httptest.Server
}

func newElector(t *testing.T) *elector {
	e := &elector{t: t, paper: &paper{}, clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0))}
	e.lead = &lead{Interface: e.paper, valid: 13 * time.Second, still: 5 * time.Second, rest: 15 * time.Second,
		clock: e.clock,
		lost:  func(err error) { e.lost = err }}
	e.serve = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { e.sent.Add(1) }))
	t.Cleanup(e.serve.Close)
	return e
}

func (e *elector) pass(d time.Duration) { e.clock.SetTime(e.clock.Now().Add(d)) }

func (e *elector) renew() error {
	return e.lead.Update(e.t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "us"})
}

func (e *elector) ask() error {
	_, _, err := e.lead.Get(e.t.Context())
	return err
}

// do sends a request that changes something, or not.
func (e *elector) do(method string) error {
	r, err := http.NewRequestWithContext(e.t.Context(), method, e.serve.URL, strings.NewReader("{}"))
	if err != nil {
		e.t.Fatal(err)
	}
	res, err := (&http.Client{Transport: e.lead.guard(e.serve.Client().Transport)}).Do(r)
	if err == nil {
		res.Body.Close()
	}
	return err
}

func (e *elector) want(method, refusal string) {
	e.t.Helper()
	err := e.do(method)
	if refusal == "" && err != nil || refusal != "" && (err == nil || !strings.Contains(err.Error(), refusal)) {
		e.t.Errorf("%s: %v, want %q", method, err, refusal)
	}
}

func TestOnlyTheLeaderChangesAnything(t *testing.T) {
	e := newElector(t)
	e.want(http.MethodPatch, "this replica does not lead")
	e.want(http.MethodGet, "")
	if err := e.renew(); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		e.want(method, "")
	}
	if err := e.lead.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
		t.Fatal(err)
	}
	e.want(http.MethodPatch, "this replica does not lead")
	if n := e.sent.Load(); n != 5 { // one that reads, and four by the leader
		t.Errorf("%d requests reached the server", n)
	}
}

// TestALeaderThatStoodStillWritesNothing: what it decided before leaves no more, and it ends once it knows who leads.
func TestALeaderThatStoodStillWritesNothing(t *testing.T) {
	e := newElector(t)
	if err := e.renew(); err != nil {
		t.Fatal(err)
	}
	e.pass(12 * time.Second)
	e.want(http.MethodPatch, "")
	e.pass(time.Second)
	e.want(http.MethodPatch, "its lease was last renewed 13s ago")
	e.paper.holder = "them"
	if err := e.ask(); err != nil {
		t.Fatal(err)
	}
	if e.lost == nil || !strings.Contains(e.lost.Error(), `the lease went to another replica ("them")`) {
		t.Errorf("it ends with %v", e.lost)
	}
}

func TestARenewalIsGoodFromWhenItWasSent(t *testing.T) {
	e := newElector(t)
	e.paper.before = func() { e.pass(5 * time.Second) }
	if err := e.renew(); err != nil {
		t.Fatal(err)
	}
	e.pass(8 * time.Second)
	e.want(http.MethodPatch, "its lease was last renewed 13s ago")
	e.paper.fail = errors.New("no route to host")
	if err := e.renew(); err == nil {
		t.Error("a renewal that failed is none")
	}
	e.want(http.MethodPatch, "its lease was last renewed 18s ago")
}

// TestAReplicaThatStoodStillDoesNotTakeOverAtOnce: its caches show what was before.
func TestAReplicaThatStoodStillDoesNotTakeOverAtOnce(t *testing.T) {
	e := newElector(t)
	e.paper.holder = "them"
	for range 3 {
		if err := e.ask(); err != nil {
			t.Fatal(err)
		}
		e.pass(4 * time.Second)
	}
	e.pass(time.Minute)
	for _, after := range []time.Duration{0, 4 * time.Second, 4 * time.Second, 4 * time.Second} {
		e.pass(after)
		if err := e.ask(); err == nil || !strings.Contains(err.Error(), "was suspended") {
			t.Errorf("%s later it learns who leads: %v", after, err)
		}
	}
	e.pass(3 * time.Second)
	if err := e.ask(); err != nil {
		t.Error(err)
	}
}

func TestALeaseThatCanBeHadIsTakenAtTheSecondLook(t *testing.T) {
	e := newElector(t)
	e.paper.holder = "them"
	for range 2 {
		if err := e.ask(); err != nil {
			t.Fatal(err)
		}
		e.pass(2 * time.Second)
	}
	e.paper.holder = ""
	for _, row := range []struct {
		after time.Duration
		taken bool
	}{{0, false}, {6 * time.Second, false}, {2 * time.Second, true}, {2 * time.Second, true}} {
		e.pass(row.after)
		if err := e.renew(); (err == nil) != row.taken {
			t.Errorf("%s later: %v", row.after, err)
		}
	}
}

// TestAControllerWhoseLeaseAnotherOneHasEnds, without giving that Lease back, and changes nothing any more.
func TestAControllerWhoseLeaseAnotherOneHasEnds(t *testing.T) {
	const lease = "/apis/coordination.k8s.io/v1/namespaces/" + contract.NamespaceSystem + "/leases/" + leaseName
	h := newHub(t)
	h.namespace("bench", apitest.Object{contract.LabelEnabled: "true"})
	h.submit("bench", "x")
	h.start(time.Hour, "--leader-elect=true", "--lease-duration=3s", "--renew-deadline=2s", "--retry-period=100ms")
	h.queued("bench")
	h.Change(lease, func(o apitest.Object) { o["spec"].(apitest.Object)["holderIdentity"] = "another" })
	err := eventually.Receive(t, "the end of the controller", h.ended)
	if err == nil || !strings.Contains(err.Error(), `the lease went to another replica ("another")`) {
		t.Errorf("it ended with %v", err)
	}
	if spec := h.Get(lease)["spec"].(apitest.Object); spec["holderIdentity"] != "another" {
		t.Errorf("it left %v", spec)
	}
}

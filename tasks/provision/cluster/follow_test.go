package cluster

import (
	"net/http"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// putPod makes a pod that the tests select.
func putPod(s *apitest.Server, name string) {
	s.Put("/api/v1/namespaces/bench/pods/"+name, apitest.Object{
		"metadata": apitest.Object{"labels": apitest.Object{"app": "x"}}})
}

func connect(t *testing.T, s *apitest.Server) *Cluster {
	t.Helper()
	c, err := New(&rest.Config{Host: s.URL}, "bench")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// next returns the names of the next state.
func next(t *testing.T, states <-chan state[*corev1.Pod]) []string {
	t.Helper()
	s := eventually.Receive(t, "the next state", states)
	if s.err != nil {
		t.Fatal(s.err)
	}
	names := []string{}
	for _, p := range s.items {
		names = append(names, p.Name)
	}
	return names
}

func TestWhoFollowsSeesEveryChangeAndABrokenWatchIsBegunAnew(t *testing.T) {
	server := apitest.New(t, "bench")
	putPod(server, "a")
	states := follow[corev1.Pod](t.Context(), connect(t, server), pods, "app=x")
	if got := next(t, states); len(got) != 1 {
		t.Fatalf("at first %q", got)
	}
	putPod(server, "b")
	if got := next(t, states); len(got) != 2 {
		t.Fatalf("after one more %q", got)
	}
	server.CloseClientConnections()
	server.Remove("/api/v1/namespaces/bench/pods/a")
	for got := next(t, states); len(got) != 1 || got[0] != "b"; got = next(t, states) {
		if len(got) != 2 {
			t.Fatalf("after the break %q", got)
		}
	}
}

func TestWhoMayNotLookIsTold(t *testing.T) {
	server := apitest.New(t, "bench")
	server.Refuse(func(apitest.Request) (int, string) { return http.StatusForbidden, "you may not" })
	s := <-follow[corev1.Pod](t.Context(), connect(t, server), pods, "app=x")
	if s.err == nil {
		t.Errorf("got %+v", s)
	}
}

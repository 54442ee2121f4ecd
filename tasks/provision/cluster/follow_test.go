package cluster

import (
	"net/http"
	"testing"
	"time"

	"bflow.dev/bflow/tasks/provision/cluster/clustertest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

func pod(name string) clustertest.Object {
	return clustertest.Object{"apiVersion": "v1", "kind": "Pod", "metadata": clustertest.Object{"name": name, "labels": clustertest.Object{"app": "x"}}}
}

func connect(t *testing.T, s *clustertest.Server) *Cluster {
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
	select {
	case s := <-states:
		if s.err != nil {
			t.Fatal(s.err)
		}
		names := []string{}
		for _, p := range s.items {
			names = append(names, p.Name)
		}
		return names
	case <-time.After(30 * time.Second):
		t.Fatal("no news")
		return nil
	}
}

func TestWhoFollowsSeesEveryChangeAndABrokenWatchIsBegunAnew(t *testing.T) {
	server := clustertest.New(t)
	server.Put("pods", pod("a"))
	states := follow[corev1.Pod](t.Context(), connect(t, server), pods, "app=x")
	if got := next(t, states); len(got) != 1 {
		t.Fatalf("at first %q", got)
	}
	server.Put("pods", pod("b"))
	if got := next(t, states); len(got) != 2 {
		t.Fatalf("after one more %q", got)
	}
	server.CloseClientConnections()
	server.Remove("pods", "a")
	for got := next(t, states); len(got) != 1 || got[0] != "b"; got = next(t, states) {
		if len(got) != 2 {
			t.Fatalf("after the break %q", got)
		}
	}
}

func TestWhoMayNotLookIsTold(t *testing.T) {
	server := clustertest.New(t)
	server.Refuse = func(string, string) int { return http.StatusForbidden }
	s := <-follow[corev1.Pod](t.Context(), connect(t, server), pods, "app=x")
	if s.err == nil {
		t.Errorf("got %+v", s)
	}
}

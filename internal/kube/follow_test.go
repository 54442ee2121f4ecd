package kube_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/internal/kube"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// script plays what happens on a server: an act for each state of the objects that it waits for.
type script struct {
	acts map[string]func() // by what is there: "m=1"
	end  string
	told []string
}

func (s *script) news(stop func()) func([]*corev1.ConfigMap) {
	return func(all []*corev1.ConfigMap) {
		var parts []string
		for _, m := range all {
			parts = append(parts, m.Name+"="+m.Data["a"])
		}
		slices.Sort(parts)
		is := strings.Join(parts, " ")
		s.hear(is)
		if is == s.end {
			stop()
		}
	}
}

func (s *script) trouble(err error) {
	if err == nil {
		s.hear("over")
		return
	}
	s.hear("trouble")
}

func (s *script) hear(word string) {
	s.told = append(s.told, word)
	if act := s.acts[word]; act != nil {
		delete(s.acts, word)
		act()
	}
}

// follow follows all ConfigMaps until the script has come to its end.
func follow(t *testing.T, c *kube.Client, s *script) {
	t.Helper()
	ctx, stop := context.WithCancel(eventually.Context(t))
	defer stop()
	err := kube.Follow(ctx, c, maps(""), kube.Selector{}, s.news(stop), s.trouble)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if len(s.acts) > 0 {
		t.Errorf("not all came about; heard %q", s.told)
	}
}

// asked counts the requests for ConfigMaps of a verb.
func asked(srv *apitest.Server, verb string) (n int) {
	for _, q := range srv.Requests() {
		if q.Verb == verb && q.Resource == "configmaps" {
			n++
		}
	}
	return n
}

func put(srv *apitest.Server, name, value string) {
	srv.Put(mapsAt+name, apitest.Object{"data": apitest.Object{"a": value}})
}

func TestWhatIsFollowedIsKnownFromTheFirst(t *testing.T) {
	srv, c := bench(t)
	put(srv, "m", "1")
	s := &script{end: "", acts: map[string]func(){
		"m=1":     func() { put(srv, "n", "1") },
		"m=1 n=1": func() { put(srv, "m", "2") },
		"m=2 n=1": func() { srv.Remove(mapsAt + "n") },
		"m=2":     func() { srv.Remove(mapsAt + "m") },
		"":        func() {},
	}}
	follow(t, c, s)
	if len(s.told) != 5 || asked(srv, "list") != 1 {
		t.Errorf("told %q by %d lists", s.told, asked(srv, "list"))
	}
}

// TestAWatchThatEndsGoesOn where it was, without another list; nobody is told.
func TestAWatchThatEndsGoesOn(t *testing.T) {
	srv, c := bench(t)
	put(srv, "m", "1")
	s := &script{end: "m=3", acts: map[string]func(){
		"m=1": func() { put(srv, "m", "2") },
		"m=2": func() {
			srv.Break()
			put(srv, "m", "3")
		},
	}}
	follow(t, c, s)
	if asked(srv, "list") != 1 || asked(srv, "watch") != 2 || slices.Contains(s.told, "trouble") {
		t.Errorf("%d lists, %d watches, told %q", asked(srv, "list"), asked(srv, "watch"), s.told)
	}
}

// TestAVersionThatIsForgottenIsListedAnew: 410 Gone, as the end of a watch or as the answer to one that begins.
func TestAVersionThatIsForgottenIsListedAnew(t *testing.T) {
	for _, row := range []struct {
		name string
		act  func(*apitest.Server)
	}{
		{"while it is watched", (*apitest.Server).Expire},
		{"between two watches", func(srv *apitest.Server) {
			srv.Refuse(func(apitest.Request) (int, string) { return http.StatusTooManyRequests, "later" })
			srv.Break()
			srv.Expire()
			srv.Refuse(nil)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			srv, c := bench(t)
			put(srv, "m", "1")
			var acting sync.WaitGroup
			defer acting.Wait()
			acting.Go(func() {
				if eventually.Happens(t.Context(), func() bool { return asked(srv, "watch") == 1 }) {
					srv.Remove(mapsAt + "m")
					row.act(srv)
					put(srv, "m", "2")
				}
			})
			s := &script{end: "m=2"}
			follow(t, c, s)
			if asked(srv, "list") != 2 || slices.Contains(s.told, "trouble") && row.name == "while it is watched" {
				t.Errorf("%d lists, told %q", asked(srv, "list"), s.told)
			}
		})
	}
}

// TestAServerThatDoesNotAnswerIsAskedAgain: whoever follows hears of it once, and of its end.
func TestAServerThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	for _, row := range []struct {
		name string
		down func(srv *apitest.Server, refused *atomic.Bool)
		up   func(srv *apitest.Server, refused *atomic.Bool)
	}{
		{"errors of a proxy before it", func(srv *apitest.Server, _ *atomic.Bool) { srv.Down(true) },
			func(srv *apitest.Server, _ *atomic.Bool) { srv.Down(false) }},
		{"connections are refused", func(srv *apitest.Server, refused *atomic.Bool) {
			refused.Store(true)
			srv.CloseClientConnections()
		}, func(_ *apitest.Server, refused *atomic.Bool) { refused.Store(false) }},
		{"too many requests", func(srv *apitest.Server, _ *atomic.Bool) {
			srv.Refuse(func(apitest.Request) (int, string) { return http.StatusTooManyRequests, "later" })
			srv.Break()
		}, func(srv *apitest.Server, _ *atomic.Bool) { srv.Refuse(nil) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			srv, _ := bench(t)
			var refused atomic.Bool
			cfg := srv.Config()
			cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				if refused.Load() {
					return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
				}
				var d net.Dialer
				return d.DialContext(ctx, network, address)
			}
			put(srv, "m", "1")
			s := &script{end: "m=3", acts: map[string]func(){
				"m=1": func() { put(srv, "m", "2") },
				"m=2": func() { row.down(srv, &refused) },
				"trouble": func() {
					put(srv, "m", "3")
					row.up(srv, &refused)
				},
			}}
			follow(t, connect(t, cfg), s)
			if want := []string{"m=1", "m=2", "trouble", "over", "m=3"}; !slices.Equal(s.told, want) {
				t.Errorf("heard %q, want %q", s.told, want)
			}
		})
	}
}

func TestARefusalEndsWhatIsFollowed(t *testing.T) {
	for _, verb := range []string{"list", "watch"} {
		t.Run(verb, func(t *testing.T) {
			srv, c := bench(t)
			srv.Refuse(func(q apitest.Request) (int, string) {
				if q.Verb == verb {
					return http.StatusForbidden, "you may not " + q.String()
				}
				return 0, ""
			})
			err := kube.Follow(eventually.Context(t), c, maps(""), kube.Selector{}, func([]*corev1.ConfigMap) {}, nil)
			if err == nil || !strings.Contains(err.Error(), "you may not "+verb+" configmaps; ask an administrator") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestUntilSeesWhatIsFollowed in any type, and asks as often as it is told to.
func TestUntilSeesWhatIsFollowed(t *testing.T) {
	srv, c := bench(t)
	put(srv, "m", "1")
	ctx := eventually.Context(t)
	looks := 0
	gone := func(all []*unstructured.Unstructured, trouble error) (bool, error) {
		if looks++; looks == 5 {
			srv.Remove(mapsAt + "m")
		}
		return len(all) == 0, trouble
	}
	err := kube.Until(ctx, c, maps(""), kube.Named("m"), time.Millisecond, gone)
	if err != nil || looks < 6 {
		t.Errorf("%d looks, %v", looks, err)
	}
	no := errors.New("no")
	fails := func([]*metav1.PartialObjectMetadata, error) (bool, error) { return false, no }
	if err := kube.Until(ctx, c, maps(""), kube.Named("m"), 0, fails); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	srv.Down(true)
	err = kube.Until(ctx, c, maps(""), kube.Named("m"), 0, func(_ []*corev1.ConfigMap, trouble error) (bool, error) {
		return trouble != nil, nil
	})
	if err != nil {
		t.Errorf("got %v", err)
	}
}

package kube_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/internal/kube"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func connect(t *testing.T, cfg *kube.Config) *kube.Client {
	t.Helper()
	c, err := kube.New(cfg, "hub")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// bench is a server with a namespace, and a client of it.
func bench(t *testing.T) (*apitest.Server, *kube.Client) {
	t.Helper()
	srv := apitest.New(t, "bench")
	return srv, connect(t, srv.Config())
}

func maps(name string) kube.At { return kube.Core("configmaps", "bench", name) }

const mapsAt = "/api/v1/namespaces/bench/configmaps/"

func data(value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "bench"}, Data: map[string]string{"a": value}}
}

// TestTheLifeOfAnObject goes through every verb, in a Go type and without one.
func TestTheLifeOfAnObject(t *testing.T) {
	srv, c := bench(t)
	ctx := t.Context()
	var made corev1.ConfigMap
	err := c.Create(ctx, maps(""), data("1"), &made, kube.Write{DryRun: true})
	if err != nil || len(srv.List(mapsAt)) > 0 {
		t.Errorf("a dry run: %v, left %q", err, srv.List(mapsAt))
	}
	if err := c.Create(ctx, maps(""), data("1"), &made, kube.Write{}); err != nil || made.UID == "" {
		t.Fatalf("%+v, %v", made, err)
	}
	if err := c.Create(ctx, maps(""), data("1"), nil, kube.Write{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("created again: %v", err)
	}
	change := map[string]any{"data": map[string]any{"b": "2"}}
	if err := c.Merge(ctx, maps("m"), change, kube.Write{}); err != nil {
		t.Error(err)
	}
	if err := c.Apply(ctx, maps("m"), data("3"), &made, kube.Write{Force: true}); err != nil || made.Data["a"] != "3" {
		t.Errorf("applied: %v, %v", made.Data, err)
	}
	typed, err := kube.Get[corev1.ConfigMap](ctx, c, maps("m"))
	if err != nil || typed.Data["a"]+typed.Data["b"] != "32" {
		t.Errorf("read %+v, %v", typed, err)
	}
	free, err := kube.Get[unstructured.Unstructured](ctx, c, maps("m"))
	if err != nil || free.GetUID() != made.UID || free.GetKind() != "ConfigMap" {
		t.Errorf("read %v, %v", free, err)
	}
	names, err := kube.List[metav1.PartialObjectMetadata](ctx, c, maps(""), kube.Named("m"))
	if err != nil || len(names) != 1 || names[0].UID != made.UID {
		t.Errorf("listed %v, %v", names, err)
	}
	for _, row := range []struct {
		name string
		uid  types.UID
		was  bool
		left int
	}{
		{"another object of the name", "other", false, 1},
		{"this one", made.UID, true, 0},
		{"one that is gone", "", false, 0},
	} {
		was, err := c.Delete(ctx, maps("m"), kube.Deletion{UID: row.uid})
		if err != nil || was != row.was || len(srv.List(mapsAt)) != row.left {
			t.Errorf("deleting %s: %v, %v, left %q", row.name, was, err, srv.List(mapsAt))
		}
	}
	if _, err := kube.Get[corev1.ConfigMap](ctx, c, maps("m")); !kube.IsMissing(err) {
		t.Errorf("got %v", err)
	}
}

func TestAnObjectOfTheWholeClusterHasNoNamespace(t *testing.T) {
	_, c := bench(t)
	namespace, err := kube.Get[corev1.Namespace](t.Context(), c, kube.Core("namespaces", "", "bench"))
	if err != nil || namespace.Name != "bench" {
		t.Errorf("got %+v, %v", namespace, err)
	}
	v, err := c.Version(t.Context())
	if err != nil || v.GitVersion != "v1.34.4" {
		t.Errorf("got %+v, %v", v, err)
	}
}

// pages serves three lists of ConfigMaps that belong together; the second is asked for with what the first says.
func pages(t *testing.T, expires bool) (*kube.Client, *[]string) {
	t.Helper()
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		asked = append(asked, "limit="+q.Get("limit")+" continue="+q.Get("continue"))
		w.Header().Set("Content-Type", "application/json")
		item := func(name string) string { return fmt.Sprintf(`{"metadata":{"name":%q}}`, name) } // as real servers do
		list := func(next string, items ...string) string {
			const metadata = `"metadata":{"resourceVersion":"7","continue":%q}`
			const text = `{"apiVersion":"v1","kind":"ConfigMapList",` + metadata + `,"items":[%s]}`
			return fmt.Sprintf(text, next, strings.Join(items, ","))
		}
		switch {
		case q.Get("limit") == "":
			io.WriteString(w, list("", item("a"), item("b")))
		case q.Get("continue") == "":
			io.WriteString(w, list("two", item("a")))
		case expires:
			w.WriteHeader(http.StatusGone)
			io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
		default:
			io.WriteString(w, list("", item("b")))
		}
	}))
	t.Cleanup(srv.Close)
	return connect(t, &kube.Config{Host: srv.URL}), &asked
}

func TestALongListComesInPages(t *testing.T) {
	for _, row := range []struct {
		name    string
		expires bool
		want    string
	}{
		{"page by page", false, "limit=200 continue=|limit=200 continue=two"},
		{"anew, at once, where the server forgets it", true,
			"limit=200 continue=|limit=200 continue=two|limit= continue="},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, asked := pages(t, row.expires)
			typed, err := kube.List[corev1.ConfigMap](t.Context(), c, maps(""), kube.Selector{})
			if err != nil || len(typed) != 2 || typed[0].Name+typed[1].Name != "ab" {
				t.Errorf("got %v, %v", typed, err)
			}
			if got := strings.Join(*asked, "|"); got != row.want {
				t.Errorf("asked %q, want %q", got, row.want)
			}
			free, err := kube.List[unstructured.Unstructured](t.Context(), c, maps(""), kube.Selector{})
			if err != nil || len(free) != 2 || free[1].GetName() != "b" || free[1].GetKind() != "ConfigMap" {
				t.Errorf("without a Go type: %v, %v", free, err)
			}
		})
	}
}

// TestARequestIsRepeatedWhileAWebhookIsAway, for as long as the client says.
func TestARequestIsRepeatedWhileAWebhookIsAway(t *testing.T) {
	for _, row := range []struct {
		name  string
		grace time.Duration
		done  bool
	}{{"with time", time.Hour, true}, {"at once an error", 0, false}} {
		t.Run(row.name, func(t *testing.T) {
			srv, c := bench(t)
			c.WebhookGrace = row.grace
			var asked atomic.Int32
			srv.Refuse(func(apitest.Request) (int, string) {
				if asked.Add(1) == 1 {
					return http.StatusInternalServerError, `failed calling webhook "x": connection refused`
				}
				return 0, ""
			})
			err := c.Create(eventually.Context(t), maps(""), data("1"), nil, kube.Write{})
			if (err == nil) != row.done || !row.done && !kube.IsWebhookAway(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAServerOfManyRequestsIsTransient(t *testing.T) {
	srv, c := bench(t)
	for code, transient := range map[int]bool{
		http.StatusTooManyRequests: true, http.StatusServiceUnavailable: true, http.StatusInternalServerError: true,
		http.StatusForbidden: false, http.StatusNotFound: false, http.StatusConflict: false,
	} {
		srv.Refuse(func(apitest.Request) (int, string) { return code, "no" })
		_, err := kube.Get[corev1.ConfigMap](t.Context(), c, maps("m"))
		if err == nil || kube.IsTransient(err) != transient {
			t.Errorf("%d: %v, transient %v", code, err, kube.IsTransient(err))
		}
	}
	srv.Close()
	if _, err := kube.Get[corev1.ConfigMap](t.Context(), c, maps("m")); !kube.IsTransient(err) {
		t.Errorf("a server that is gone: %v", err)
	}
}

// silent is a server that takes requests and never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestAServerThatNeverAnswersIsGivenUp(t *testing.T) {
	for _, row := range []struct {
		name  string
		ask   func(context.Context, *kube.Client) error
		limit time.Duration
	}{
		{"the first question", func(ctx context.Context, c *kube.Client) error { return c.Reach(ctx) }, 10 * time.Second},
		{"any other", func(ctx context.Context, c *kube.Client) error {
			_, err := kube.Get[corev1.ConfigMap](ctx, c, maps("m"))
			return err
		}, time.Minute},
		{"which kinds there are", func(_ context.Context, c *kube.Client) error {
			asked, err := c.Discovery()
			if err == nil {
				_, err = asked.ServerGroups()
			}
			return c.Explain(err)
		}, time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := connect(t, &kube.Config{Host: "https://api.example", Transport: silent{}})
				began := time.Now()
				err := row.ask(t.Context(), c)
				took := time.Since(began) //nolint:forbidigo // by the clock of the bubble
				if took > row.limit || !kube.IsTransient(err) {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tried := errors.New("tried")
	n := 0
	err := kube.Retry(ctx, time.Millisecond, func() error {
		if n++; n == 3 {
			cancel()
		}
		return tried
	}, func(error) bool { return true })
	if !errors.Is(err, tried) || n != 3 {
		t.Errorf("%d tries, %v", n, err)
	}
}

// TestRequestsGoThroughTheProxyOfTheKubeconfig, also those that stay open.
func TestRequestsGoThroughTheProxyOfTheKubeconfig(t *testing.T) {
	srv, _ := bench(t)
	srv.Put(mapsAt+"m", data("1"))
	srv.Say("bench", "p", "c", "one")
	srv.EndLog("bench", "p", "c")
	address, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	var passed atomic.Int32
	through := proxyTo(address)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host == "api.behind.example" {
			passed.Add(1)
		}
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	t.Cleanup(srv.Break) // before: the proxy waits for its watches
	file := write(t, fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {token: t}}],
clusters: [{name: c, cluster: {server: "http://api.behind.example", proxy-url: %q}}]}`, proxy.URL))
	cfg, _, err := kube.Source{File: file}.Read()
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, cfg)
	if err := c.Reach(t.Context()); err != nil {
		t.Error(err)
	}
	changed := func(all []*corev1.ConfigMap, _ error) (bool, error) {
		if all[0].Data["a"] == "1" {
			srv.Put(mapsAt+"m", data("2"))
		}
		return all[0].Data["a"] == "2", nil
	}
	if err := kube.Until(eventually.Context(t), c, maps(""), kube.Selector{}, 0, changed); err != nil {
		t.Error(err)
	}
	of := kube.Log{Namespace: "bench", Pod: "p", Container: "c"}
	if err := c.ReadLog(t.Context(), of, func(string) error { return nil }); err != nil {
		t.Error(err)
	}
	if n := passed.Load(); n < 4 { // version, list, watch, log
		t.Errorf("%d requests went through the proxy", n)
	}
}

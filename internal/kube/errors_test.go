package kube_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/kube"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// proxyTo sends every request to one address, whichever it asked for.
func proxyTo(address *url.URL) http.Handler {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(address) }, FlushInterval: -1}
}

func TestAnErrorSaysWhatToDo(t *testing.T) {
	const denied = `admission webhook "validation.webhook.pipeline.tekton.dev" denied the request: `
	pods := schema.GroupResource{Resource: "pods"}
	ending := apierrors.NewForbidden(pods, "x", errors.New("it is being terminated"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	route := &net.OpError{Op: "dial", Err: errors.New("no route")}
	dial := &url.Error{Op: "Get", URL: "https://secret.example/api", Err: route}
	denial, login := apierrors.NewForbidden(pods, "x", nil), apierrors.NewUnauthorized("x")
	for _, row := range []struct {
		name, advice, want string
		err                error
	}{
		{"nothing", "", "", nil},
		{"nobody waits", "", "context canceled", fmt.Errorf("asking: %w", context.Canceled)},
		{"no right", "", "ask an administrator for this permission, or see bflow doctor", denial},
		{"no right, with advice of its own", "come back", "; come back", denial},
		{"a namespace that is going", "", "it is being terminated; try again once it is gone", ending},
		{"credentials that are no good", "", "cluster hub no longer accepts your credentials (x); log in again", login},
		{"credentials, with advice of its own", "come back", "; come back", login},
		{"no network", "", "the API server of cluster hub (https://api.example) does not answer: dial: no route; " +
			"check the network, and that this is the right cluster (--context, --kubeconfig)", dial},
		{"no network, with advice of its own", "come back", "does not answer: dial: no route; come back", dial},
		{"what Tekton refuses", "", "denied: no such param", fmt.Errorf("denied: %sno such param", denied)},
		{"another error", "", "x", errors.New("x")},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := connect(t, &kube.Config{Host: "https://api.example"})
			c.Advice = kube.Advice{Forbidden: row.advice, Unauthorized: row.advice, Unreachable: row.advice}
			err := c.Explain(row.err)
			if row.err == nil && err != nil || row.err != nil && !strings.HasSuffix(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

// TestWhatIsNotInstalledIsNamed, as opposed to an object that is not there.
func TestWhatIsNotInstalledIsNamed(t *testing.T) {
	srv, c := bench(t)
	for what, at := range map[string]kube.At{
		"Tekton": kube.Tekton("pipelineruns", "bench", "r"), "Kueue": kube.Kueue("localqueues", "bench", "q"),
	} {
		_, err := kube.Get[metav1.PartialObjectMetadata](t.Context(), c, at)
		var missing *kube.MissingError
		if !errors.As(err, &missing) || missing.What != what || apierrors.IsNotFound(err) {
			t.Errorf("%s: got %v", what, err)
		}
		if !kube.IsMissing(err) || !kube.IsFinal(err) {
			t.Errorf("%s: missing %v, final %v", what, kube.IsMissing(err), kube.IsFinal(err))
		}
	}
	srv.ServeRuns()
	_, err := kube.Get[metav1.PartialObjectMetadata](t.Context(), c, kube.Tekton("pipelineruns", "bench", "r"))
	if !apierrors.IsNotFound(err) || !kube.IsMissing(err) || kube.IsFinal(err) {
		t.Errorf("a run: got %v", err)
	}
}

func TestTheFirstQuestionFindsOutWhoIsAway(t *testing.T) {
	for _, row := range []struct {
		name, want string
		act        func(*apitest.Server)
	}{
		{"one that answers", "", func(*apitest.Server) {}},
		{"one that is gone", "the API server of cluster hub (", func(s *apitest.Server) { s.Close() }},
		{"a proxy before one that is gone", "does not answer", func(s *apitest.Server) { s.Down(true) }},
		{"wrong credentials", "cluster hub does not accept your credentials (", func(s *apitest.Server) {
			s.Authenticate(func(string) bool { return false })
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			srv, c := bench(t)
			row.act(srv)
			err := c.Reach(t.Context())
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

package digests

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"bflow.dev/bflow/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// host is the address of a server.
func host(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }

func TestTagsAreResolvedWhereTheirRegistryAnswers(t *testing.T) {
	srv := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer srv.Close()
	refusing := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer refusing.Close()
	ended := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	}))
	defer silent.Close()
	defer close(ended)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := nobody.Addr().String()
	nobody.Close()

	there := host(srv) + "/team/app:v1"
	image, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(there)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, image); err != nil {
		t.Fatal(err)
	}
	want, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	refs := []string{there, host(srv) + "/team/other:v1", host(refusing) + "/app:v1", host(silent) + "/app:v1",
		gone + "/app:v1", "UPPER:v1"}
	got := Resolve(t.Context(), refs)
	for i, why := range []string{"", "the registry has no such image", "the registry answers 503 Service Unavailable",
		"the registry does not answer",
		"the registry cannot be reached", `reading image "UPPER:v1"`} {
		answer := got[refs[i]]
		switch {
		case why == "" && (answer.Err != nil || answer.Digest != want.String()):
			t.Errorf("%s: got %+v, want %s", refs[i], answer, want)
		case why != "" && (answer.Err == nil || !strings.HasPrefix(answer.Err.Error(), why) || answer.Digest != ""):
			t.Errorf("%s: got %+v, want %q", refs[i], answer, why)
		}
	}
}

func TestWhatHasADigestIsNotByTag(t *testing.T) {
	for ref, want := range map[string]bool{"a.example/b:v1": true, "a.example/b": true, "a.example/b@sha256:1": false,
		"a.example/b:v1@sha256:1": false} {
		if got := ByTag(ref); got != want {
			t.Errorf("%s: %v", ref, got)
		}
	}
	if got := With("a.example/b:v1", "sha256:1"); got != "a.example/b:v1@sha256:1" {
		t.Errorf("got %s", got)
	}
}

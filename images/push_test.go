package images

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"bflow.dev/bflow/images/attest"
	"bflow.dev/bflow/images/lock"
)

// reg is a registry in memory that counts what it is sent.
type reg struct {
	prefix           string
	blobs, manifests atomic.Int64
}

func makeRegistry(t *testing.T, options ...registry.Option) *reg {
	t.Helper()
	inner := registry.New(append(options, registry.Logger(log.New(io.Discard, "", 0)))...)
	r := &reg{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case req.Method == http.MethodPost && strings.Contains(req.URL.Path, "/blobs/uploads"):
			r.blobs.Add(1)
		case req.Method == http.MethodPut && strings.Contains(req.URL.Path, "/manifests/"):
			r.manifests.Add(1)
		}
		inner.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	r.prefix = strings.TrimPrefix(server.URL, "http://") + "/team/bflow"
	return r
}

// push pushes and returns how many blobs and manifests were sent.
func (r *reg) push(t *testing.T, l *Layout) (f lock.File, blobs, manifests int64) {
	t.Helper()
	b, m := r.blobs.Load(), r.manifests.Load()
	f, err := l.Push(context.Background(), Registry{Prefix: r.prefix + "/"})
	if err != nil {
		t.Fatal(err)
	}
	return f, r.blobs.Load() - b, r.manifests.Load() - m
}

func TestOnlyWhatChangedIsPushedAgain(t *testing.T) {
	r := makeRegistry(t, registry.WithReferrersSupport(true))
	l := makeLayout(t, "a")
	// Per image: program and config of two platforms, three documents. The base and the empty config of documents are
	// blobs of both, which may find those of the other there: this registry has one store for all.
	if _, blobs, manifests := r.push(t, l); blobs < 2*(4+3)+2 || blobs > 2*(4+3)+4 || manifests != 2*(3+3) {
		t.Errorf("the first time %d blobs and %d manifests were sent", blobs, manifests)
	}
	if _, blobs, manifests := r.push(t, l); blobs != 0 || manifests != 0 {
		t.Errorf("the second time %d blobs and %d manifests were sent", blobs, manifests)
	}
	if _, blobs, manifests := r.push(t, makeLayout(t, "b")); blobs != 4+3 || manifests != 3+3 {
		t.Errorf("after a change of one program %d blobs and %d manifests were sent", blobs, manifests)
	}
}

func TestWhatWasPushedIsWhatTheLockSays(t *testing.T) {
	r := makeRegistry(t)
	l := makeLayout(t, "a")
	f, _, _ := r.push(t, l)
	if f.Version != "v0.1.0+7" || len(f.Images) != 2 || len(f.Images[0].Platforms) != 2 {
		t.Fatalf("lock %+v", f)
	}
	for n, i := range f.Images {
		ref, err := name.ParseReference(i.Ref)
		if err != nil {
			t.Fatal(err)
		}
		head, err := remote.Head(ref)
		if err != nil {
			t.Fatal(err)
		}
		if head.Digest.String() != i.Digest || i.Digest != l.Images[n].Digest.String() ||
			i.Pinned() != r.prefix+"/"+i.Name+"@"+i.Digest {
			t.Errorf("%s: %s in the registry, %s in the lock, %s in the layout",
				i.Ref, head.Digest, i.Digest, l.Images[n].Digest)
		}
	}
}

func TestALayoutFromElsewhereIsPushedAsItIs(t *testing.T) {
	l := makeLayout(t, "a")
	carried, err := Open(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	r := makeRegistry(t)
	f, _, _ := r.push(t, carried)
	if f.Images[0].Digest != l.Images[0].Digest.String() {
		t.Errorf("got %s, want %s", f.Images[0].Digest, l.Images[0].Digest)
	}
}

// TestDocumentsAreFoundFromTheImage with both ways in which a registry lists what refers to an image.
func TestDocumentsAreFoundFromTheImage(t *testing.T) {
	for name, options := range map[string][]registry.Option{
		"a registry with the referrers API": {registry.WithReferrersSupport(true)},
		"a registry that knows tags only":   {registry.WithReferrersSupport(false)},
	} {
		t.Run(name, func(t *testing.T) {
			r := makeRegistry(t, options...)
			f, _, _ := r.push(t, makeLayout(t, "a"))
			i := f.Images[0]
			var spdx struct {
				SPDXVersion, Name string
			}
			r.document(t, i.Name, i.Platforms["linux/arm64"], attest.SPDXType, &spdx)
			if spdx.SPDXVersion != "SPDX-2.3" || spdx.Name != "collect linux/arm64" {
				t.Errorf("list of parts: %+v", spdx)
			}
			var proof struct {
				PredicateType string
				Subject       []struct{ Digest map[string]string }
			}
			r.document(t, i.Name, i.Digest, attest.ProvenanceType, &proof)
			if proof.PredicateType != "https://slsa.dev/provenance/v1" || len(proof.Subject) != 3 ||
				"sha256:"+proof.Subject[0].Digest["sha256"] != i.Digest {
				t.Errorf("provenance: %+v", proof)
			}
		})
	}
}

// document reads the one document of a kind that refers to a digest.
func (r *reg) document(t *testing.T, image, digest, kind string, into any) {
	t.Helper()
	at, err := name.NewDigest(r.prefix + "/" + image + "@" + digest)
	if err != nil {
		t.Fatal(err)
	}
	list, err := remote.Referrers(at, remote.WithFilter("artifactType", kind))
	if err != nil {
		t.Fatal(err)
	}
	m, err := list.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Manifests) != 1 {
		t.Fatalf("%d documents of kind %s refer to %s", len(m.Manifests), kind, digest)
	}
	img, err := remote.Image(at.Context().Digest(m.Manifests[0].Digest.String()))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	text, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	if err := json.NewDecoder(text).Decode(into); err != nil {
		t.Fatal(err)
	}
}

func TestARegistryThatIsNotThereIsNamed(t *testing.T) {
	l := makeLayout(t, "a")
	server := httptest.NewServer(http.NotFoundHandler())
	prefix := strings.TrimPrefix(server.URL, "http://") + "/x"
	server.Close()
	_, err := l.Push(context.Background(), Registry{Prefix: prefix})
	if err == nil || !strings.Contains(err.Error(), `pushing image "`+filepath.ToSlash(prefix)+`/`) {
		t.Errorf("got %v", err)
	}
}

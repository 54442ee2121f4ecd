package bootstrap

import (
	"io"
	"log"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/upstream"
	"bflow.dev/bflow/internal/apitest"
)

// kueueIn is a registry with an image of Kueue, and an image map that leads there.
func kueueIn(t *testing.T) (srv *httptest.Server, ref, digest string, images map[string]string) {
	t.Helper()
	srv = httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(srv.Close)
	ref = strings.TrimPrefix(srv.URL, "http://") + "/kueue:" + upstream.KueueVersion
	tag, err := name.NewTag(ref)
	must(t, err)
	image, err := random.Image(64, 1)
	must(t, err)
	must(t, remote.Write(tag, image))
	hash, err := image.Digest()
	must(t, err)
	return srv, ref, hash.String(), map[string]string{"registry.k8s.io/kueue/kueue:" + upstream.KueueVersion: ref}
}

// pinnedHub surveys a cluster and resolves the images of an installation on it, with the image of Kueue from ref.
func pinnedHub(t *testing.T, hub *Hub, images map[string]string, before Settings) (image string, s survey) {
	t.Helper()
	s, err := hub.look(t.Context(), Options{Version: "v1.0.0", ImageMap: images, Adopt: true}.Resume(before))
	must(t, err)
	must(t, hub.pin(t.Context(), &s))
	for _, ref := range foreignImages(s.parts) {
		if strings.HasPrefix(ref, "127.0.0.1:") {
			image = ref
		}
	}
	return image, s
}

func TestImagesAreInstalledByDigestWhereTheirRegistryAnswers(t *testing.T) {
	_, hub, said := bareServer(t)
	srv, ref, digest, images := kueueIn(t)
	got, s := pinnedHub(t, hub, images, Settings{})
	if got != ref+"@"+digest {
		t.Errorf("Kueue is %v, want digest %s", got, digest)
	}
	if !strings.Contains(said.String(), "installed by tag, because nodes have a different image of that name") ||
		strings.Contains(said.String(), ref) {
		t.Errorf("said\n%s", said)
	}
	state := State{Images: imageNames(s)}
	if state.Images.ByDigest[ref] != digest || len(state.Images.ByTag) < 5 || slices.Contains(state.Images.ByTag, ref) {
		t.Errorf("status has %+v", state.Images)
	}
	var text strings.Builder
	state.Print(&text)
	if !strings.Contains(text.String(), "resolved to digests: 1\n") ||
		!strings.Contains(text.String(), "installed by tag: ") {
		t.Errorf("status says\n%s", &text)
	}
	srv.Close()
	if got, _ := pinnedHub(t, hub, images, s.options.settings(s.parts)); got != ref+"@"+digest {
		t.Errorf("with the registry away Kueue is %v", got)
	}
}

// TestAnInstallationNamesDigests: what runs is what was resolved, and a second call keeps it while the registry is
// unreachable.
func TestAnInstallationNamesDigests(t *testing.T) {
	s, hub, _ := bareServer(t)
	srv, ref, digest, images := kueueIn(t)
	o := Options{Version: "v1.0.0", Namespaces: []string{"bench"}, ImageMap: images, Adopt: true}
	for _, call := range []string{"the first call", "a second one, with the registry away"} {
		must(t, hub.Install(t.Context(), o))
		var run []string
		for _, path := range s.List("/apis/apps/v1/") {
			if image, _ := ofContainer(s, path, "image").(string); strings.HasPrefix(image, ref) {
				run = append(run, image)
			}
		}
		if !slices.Equal(run, []string{ref + "@" + digest}) {
			t.Errorf("%s: of Kueue there runs %q, want %s", call, run, ref+"@"+digest)
		}
		srv.Close()
	}
	if state, err := hub.Status(t.Context(), o); err != nil || state.Images.ByDigest[ref] != digest {
		t.Errorf("status has %+v, %v", state.Images, err)
	}
}

// TestAnImageThatWasLoadedIntoANodeStays: somebody has loaded it on purpose, and the node could not pull another.
func TestAnImageThatWasLoadedIntoANodeStays(t *testing.T) {
	_, ref, digest, images := kueueIn(t)
	repository := strings.TrimSuffix(ref, ":"+upstream.KueueVersion)
	for _, row := range []struct {
		name  string
		names []any
		byTag bool
	}{
		{"from no registry", []any{ref}, true},
		{"with another content", []any{ref, repository + "@sha256:" + strings.Repeat("0", 64)}, true},
		{"of this very content", []any{repository + "@" + digest, ref}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, hub, _ := bareServer(t)
			s.Put("/api/v1/nodes/m", apitest.Object{"status": apitest.Object{
				"images": []any{apitest.Object{"names": row.names}}}})
			if got, _ := pinnedHub(t, hub, images, Settings{}); (got == ref) != row.byTag {
				t.Errorf("Kueue is %v", got)
			}
		})
	}
}

func TestAnExportNamesDigestsWhereThatIsAskedFor(t *testing.T) {
	_, ref, digest, images := kueueIn(t)
	var asked []string
	var plain, resolved strings.Builder
	o := Options{Version: "v1", ImageMap: images, Registry: strings.Split(ref, "/")[0]}
	must(t, Export(&plain, o))
	o, err := o.WithDigests(t.Context(), func(reason string, refs []string) { asked = append(asked, reason) })
	must(t, err)
	must(t, Export(&resolved, o))
	if strings.Contains(plain.String(), digest) || !strings.Contains(resolved.String(), ref+"@"+digest) ||
		!slices.Equal(asked, []string{"the registry has no such image"}) {
		t.Errorf("asked in vain: %q", asked)
	}
}

func TestDigestsOfOtherVersionsAreForgotten(t *testing.T) {
	o := Options{Version: "v1", Digests: map[string]string{
		"registry.k8s.io/kueue/kueue:" + upstream.KueueVersion: "sha256:1", "registry.k8s.io/kueue/kueue:v0.1.0": "sha256:2"}}
	all, err := render(o, component.All(), detect.Found{}, Inventory{})
	must(t, err)
	got := digestsInUse(o.Digests, all)
	if len(got) != 1 || got["registry.k8s.io/kueue/kueue:"+upstream.KueueVersion] != "sha256:1" {
		t.Errorf("kept %v", got)
	}
	at := slices.IndexFunc(all[1].Objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" })
	containers, _, _ := unstructured.NestedSlice(all[1].Objects[at].Object, "spec", "template", "spec", "containers")
	if image := containers[0].(map[string]any)["image"]; image != "registry.k8s.io/kueue/kueue:"+upstream.KueueVersion+
		"@sha256:1" {
		t.Errorf("Kueue is %v", image)
	}
}

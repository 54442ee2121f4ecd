package bootstrap

import (
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/internal/apitest"
)

const ofCache = "/apis/apps/v1/namespaces/kube-system/daemonsets/bflow-image-cache"

// cacheHub is a hub of a bflow that has component ImageCache.
func cacheHub(t *testing.T) (*apitest.Server, *Hub, *strings.Builder) {
	t.Helper()
	s, hub, said := bareServer(t)
	s.Serve("apps/v1", "DaemonSet", true)
	hub.components = func() []component.Component {
		return append([]component.Component{&ImageCache{}},
			component.All()...)
	}
	return s, hub, said
}

func TestTheLifeOfAComponent(t *testing.T) {
	s, hub, said := cacheHub(t)
	before := s.List("/")
	settings, err := component.ParseFlags((&ImageCache{}).Definition().Flags, func(component.Flag) []string {
		return []string{"127.0.0.1:1/vllm:v1"}
	})
	must(t, err)
	o := Options{Version: "v1.0.0", Namespaces: []string{"bench"}, Components: settings}
	must(t, hub.Install(t.Context(), o))
	if !strings.Contains(said.String(), "✓ image cache v1.0.0 (1 objects: 1 created") {
		t.Errorf("said\n%s", said)
	}
	labels, _, _ := unstructured.NestedStringMap(s.Get(ofCache), "metadata", "labels")
	if labels["app.kubernetes.io/managed-by"] != "bflow" || labels["bflow.dev/part"] != "image-cache" {
		t.Errorf("it has labels %v", labels)
	}
	inv, err := ReadInventory(t.Context(), hub.cluster)
	must(t, err)
	var kept []string
	must(t, inv.Settings.Components.Read("cacheImages", &kept))
	if len(inv.Parts["image-cache"]) != 1 || !slices.Equal(kept, []string{"127.0.0.1:1/vllm:v1"}) {
		t.Errorf("the inventory has %v and %q", inv.Parts["image-cache"], kept)
	}

	said.Reset()
	o.Components = nil // as before
	must(t, hub.Install(t.Context(), o))
	if !strings.Contains(said.String(), "✓ image cache v1.0.0 (1 objects, unchanged") {
		t.Errorf("said\n%s", said)
	}
	state, err := hub.Status(t.Context(), o)
	must(t, err)
	if i := slices.IndexFunc(state.Components, func(c ComponentState) bool { return c.Name == "image cache" }); i < 0 ||
		len(state.Findings) > 0 {
		t.Errorf("status says %+v", state)
	}

	said.Reset()
	o.Components = component.Settings{"cacheImages": []byte("[]")}
	must(t, hub.Install(t.Context(), o))
	if s.Get(ofCache) != nil {
		t.Error("it is there though it is no longer wanted")
	}
	o.Components = settings
	must(t, hub.Install(t.Context(), o))
	must(t, hub.Uninstall(t.Context(), UninstallOptions{}))
	// goes with its namespace
	now := slices.DeleteFunc(s.List("/"), func(path string) bool { return strings.HasSuffix(path, "/bflow-inventory") })
	if !slices.Equal(now, before) {
		t.Errorf("left %q, before %q; said\n%s", now, before, said)
	}
}

func TestAComponentThatDoesNotWorkIsFound(t *testing.T) {
	s, hub, _ := cacheHub(t)
	o := Options{Version: "v1.0.0", Namespaces: []string{"bench"},
		Components: component.Settings{"cacheImages": []byte(`["127.0.0.1:1/vllm:v1"]`)}}
	must(t, hub.Install(t.Context(), o))
	s.Remove(ofCache)
	state, err := hub.Status(t.Context(), o)
	must(t, err)
	if len(state.Findings) != 1 || state.Findings[0].Component != "image cache" || state.Findings[0].Problem != "missing" {
		t.Errorf("status says %+v", state.Findings)
	}
}

// TestTheExampleIsTheOneOfTheDocs: what docs/extend.md shows is what runs here.
func TestTheExampleIsTheOneOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/extend.md")
	must(t, err)
	file, err := os.ReadFile("imagecache_test.go")
	must(t, err)
	_, example, _ := strings.Cut(string(file), "\n// ImageCache ")
	if !strings.Contains(string(page), "```go\n// ImageCache "+example+"```\n") {
		t.Error("the example in docs/extend.md is another than imagecache_test.go; copy it there")
	}
}

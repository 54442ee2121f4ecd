package bundle_test

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/pipelines/bundle"
	"bflow.dev/bflow/pipelines/bundle/content"
	"bflow.dev/bflow/runplan/contract"
)

// longPrefix is as long as names of registries in clouds get: a bundle must have room for them.
const longPrefix = "123456789012.dkr.ecr.ap-southeast-2.amazonaws.com/" +
	"platform-engineering/inference-benchmarks/third-party/bflow/"

func makeObjects(t *testing.T) []runtime.Object {
	t.Helper()
	images := map[string]string{}
	for _, binary := range append(contract.Binaries(), contract.SimEngine, "bflow") {
		images[binary] = longPrefix + binary + "@sha256:" + strings.Repeat("a", 64)
	}
	objects, err := content.Objects(pipelines.Release{Version: "v0.1.0", Images: images})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func makeTask(name string) *tektonv1.Task {
	return &tektonv1.Task{
		TypeMeta: metav1.TypeMeta{APIVersion: "tekton.dev/v1", Kind: "Task"}, ObjectMeta: metav1.ObjectMeta{Name: name},
	}
}

func TestABundleComesBackFromARegistryAsItWasPushed(t *testing.T) {
	objects := makeObjects(t)
	img, err := bundle.Image(objects)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New())
	defer server.Close()
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/team/tasks:v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
	back, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := bundle.Read(back)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(objects) {
		t.Fatalf("got %d objects, want %d", len(entries), len(objects))
	}
	for n, e := range entries {
		if room := bundle.MaxSize - len(e.Text); room < 3<<10 {
			t.Errorf("%s %s leaves %d bytes to the limit", e.Kind, e.Name, room)
		}
		want, err := json.Marshal(objects[n])
		if err != nil {
			t.Fatal(err)
		}
		var meta metav1.PartialObjectMetadata
		if err := json.Unmarshal(e.Text, &meta); err != nil {
			t.Fatal(err)
		}
		if string(e.Text) != string(want) || e.Name != meta.Name || e.Kind != strings.ToLower(meta.Kind) ||
			e.APIVersion != "tekton.dev/v1" || meta.APIVersion != e.APIVersion {
			t.Errorf("%s %s %s is not what was pushed", e.APIVersion, e.Kind, e.Name)
		}
	}
}

func TestEqualObjectsAreEqualBundles(t *testing.T) {
	digest := func(objects []runtime.Object) string {
		img, err := bundle.Image(objects)
		if err != nil {
			t.Fatal(err)
		}
		d, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d.String()
	}
	a, b := digest(makeObjects(t)), digest(makeObjects(t))
	if a != b {
		t.Errorf("%s and %s", a, b)
	}
	if a == digest(makeObjects(t)[1:]) {
		t.Error("another bundle has the same digest")
	}
}

func TestWhatNoReaderTakesIsRefused(t *testing.T) {
	var many []runtime.Object
	for n := range bundle.MaxObjects + 1 {
		many = append(many, makeTask(fmt.Sprint("task-", n)))
	}
	large := makeTask("large")
	large.Spec.Description = strings.Repeat("x", bundle.MaxSize)
	untyped := makeTask("untyped")
	untyped.Kind = ""
	rows := []struct {
		name, want string
		objects    []runtime.Object
	}{
		{"21 objects", "at most 20", many},
		{"an object that tkn would cut", "task/large: it is", []runtime.Object{large}},
		{"an object without a kind", "needs apiVersion, kind and name", []runtime.Object{untyped}},
		{"two of one name", "task/a: it is there twice", []runtime.Object{makeTask("a"), makeTask("a")}},
	}
	for _, row := range rows {
		if _, err := bundle.Image(row.objects); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %s", row.name, err, row.want)
		}
	}
}

// TestOneReadGivesAWholeObject: tkn asks once for an object's bytes and takes what it gets.
func TestOneReadGivesAWholeObject(t *testing.T) {
	large := makeTask("large")
	large.Spec.Description = strings.Repeat("x", bundle.MaxSize-len(
		`{"kind":"Task","apiVersion":"tekton.dev/v1","metadata":{"name":"large"},"spec":{"description":""}}`))
	img, err := bundle.Image(append(makeObjects(t), large))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		plain, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		r := tar.NewReader(plain)
		h, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := r.Read(make([]byte, h.Size)); int64(n) != h.Size {
			t.Errorf("%s: one read gives %d bytes of %d", h.Name, n, h.Size)
		}
		plain.Close()
	}
}

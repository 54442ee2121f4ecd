package lock

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func makeImage(name, digit string) Image {
	return Image{Name: name, Ref: "reg.example:5000/bflow/" + name + ":v1", Digest: "sha256:" + strings.Repeat(digit, 64),
		Platforms: map[string]string{
			"linux/arm64": "sha256:" + strings.Repeat("b", 64), "linux/amd64": "sha256:" + strings.Repeat("a", 64)}}
}

func TestALockIsReadAsItWasWritten(t *testing.T) {
	want := File{
		APIVersion: APIVersion, Kind: Kind, Version: "v1", Revision: "abc-dirty",
		Images: []Image{makeImage("collect", "1"), makeImage("load-gen", "2")},
	}
	data, err := Marshal(File{Version: "v1", Revision: "abc-dirty", Images: []Image{want.Images[1], want.Images[0]}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !Is(data) || Is([]byte(`{"load-gen": "x@sha256:1"}`)) || Is([]byte("\t")) {
		t.Error("a lock is not told from another file")
	}
	if ref := got.References()["load-gen"]; ref != "reg.example:5000/bflow/load-gen@sha256:"+strings.Repeat("2", 64) {
		t.Errorf("got %s", ref)
	}
}

func TestRepositoryOfAReference(t *testing.T) {
	for ref, want := range map[string]string{"a/b:v1": "a/b", "host:5000/b": "host:5000/b",
		"host:5000/b:v1": "host:5000/b", "b": "b"} {
		if got := repository(ref); got != want {
			t.Errorf("%s: got %s, want %s", ref, got, want)
		}
	}
}

func TestWhatIsNoLockIsRefused(t *testing.T) {
	rows := []struct{ name, text, want string }{
		{"an unknown key", "apiVersion: bflow.dev/v1alpha1\nkind: ImageLock\nimages: []\nimagez: []\n",
			"field imagez not found"},
		{"another kind", "apiVersion: bflow.dev/v1alpha1\nkind: Experiment\n", "want bflow.dev/v1alpha1 ImageLock"},
		{"a digest that is none",
			"apiVersion: bflow.dev/v1alpha1\nkind: ImageLock\nimages: [{name: a, ref: b, digest: sha256:1}]\n",
			`digest of "a" is "sha256:1"`},
		{"an image without a name", "apiVersion: bflow.dev/v1alpha1\nkind: ImageLock\nimages: [{ref: b}]\n",
			"images[0] needs name and ref"},
	}
	for _, row := range rows {
		if _, err := Parse([]byte(row.text)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %s", row.name, err, row.want)
		}
	}
}

func TestALockGrowsWithinAVersionAndStartsAnewWithTheNext(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	write := func(version string, images ...Image) []string {
		t.Helper()
		if err := Write(path, File{Version: version, Images: images}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, i := range f.Images {
			names = append(names, i.Name+i.Digest[7:8])
		}
		return names
	}
	write("v1", makeImage("collect", "1"), makeImage("load-gen", "2"))
	if got := write("v1", makeImage("load-gen", "3")); !cmp.Equal(got, []string{"collect1", "load-gen3"}) {
		t.Errorf("within a version: got %q", got)
	}
	if got := write("v2", makeImage("load-gen", "4")); !cmp.Equal(got, []string{"load-gen4"}) {
		t.Errorf("the next version: got %q", got)
	}
}

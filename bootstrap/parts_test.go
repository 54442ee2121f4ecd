package bootstrap

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/mirror"
	"bflow.dev/bflow/bootstrap/upstream"
	"bflow.dev/bflow/runplan/contract"
)

// Parts that others may have installed.
const (
	partTekton = "tekton"
	partKueue  = "kueue"
)

func TestWhatOthersInstalledIsLeftAlone(t *testing.T) {
	foreign := detect.Install{Present: true, By: detect.ByUpstream, Version: "v1.9.0"}
	begun := Inventory{Parts: map[string][]Entry{partTekton: {
		{Ref: apply.Ref{Kind: "Namespace", Name: upstream.TektonNamespace}}}}}
	for _, row := range []struct {
		name    string
		tekton  detect.Install
		kueue   detect.Install
		options Options
		inv     Inventory
		want    []string
	}{
		{name: "a bare cluster gets everything", want: []string{partTekton, partKueue, partBflow}},
		{name: "a Tekton of others stays", tekton: foreign, want: []string{partKueue, partBflow}},
		{name: "a Kueue of others stays", kueue: foreign, want: []string{partTekton, partBflow}},
		{name: "unless it is to be taken over", tekton: foreign, options: Options{Adopt: true},
			want: []string{partTekton, partKueue, partBflow}},
		{name: "our own is ours", tekton: detect.Install{Present: true, By: detect.ByBflow},
			want: []string{partTekton, partKueue, partBflow}},
		{name: "and so is one of which only CRDs were written before we were cut off", tekton: foreign, inv: begun,
			want: []string{partTekton, partKueue, partBflow}},
	} {
		t.Run(row.name, func(t *testing.T) {
			components := []component.Component{&component.Tekton{Install: row.tekton}, &component.Kueue{Install: row.kueue},
				&component.Bflow{}}
			all, err := render(row.options, components, detect.Found{}, row.inv)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range all {
				got = append(got, c.Key)
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("installs %q, want %q", got, row.want)
			}
		})
	}
}

func TestEveryObjectIsKnownAsOurs(t *testing.T) {
	all, err := render(Options{}, component.All(), detect.Found{}, Inventory{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[apply.Ref]bool{}
	for _, c := range all {
		for _, o := range c.Objects {
			labels := o.GetLabels()
			if labels[contract.LabelManagedBy] != contract.ManagedBy || labels[contract.LabelPart] != c.Key {
				t.Errorf("%s has labels %v", apply.RefOf(o), labels)
			}
			if seen[apply.RefOf(o)] {
				t.Errorf("%s is there twice", apply.RefOf(o))
			}
			seen[apply.RefOf(o)] = true
		}
	}
}

// TestSelectorsOfUpstreamStay: Tekton's webhook selects its configuration by this label.
func TestSelectorsOfUpstreamStay(t *testing.T) {
	all, err := render(Options{}, component.All(), detect.Found{}, Inventory{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all[0].Objects {
		if part := o.GetLabels()["app.kubernetes.io/part-of"]; o.GetKind() == "ConfigMap" && part != "tekton-pipelines" {
			t.Errorf("%s is part of %q: Tekton's webhook does not look at it", apply.RefOf(o), part)
		}
	}
}

func TestAMirrorServesEveryImage(t *testing.T) {
	all, err := render(Options{Registry: "10.0.0.1:5000",
		ImageMap: map[string]string{"cgr.dev/chainguard/busybox": "10.0.0.1:5000/busybox"}}, component.All(), detect.Found{},
		Inventory{})
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, c := range all {
		for _, o := range c.Objects {
			for _, image := range mirror.Images(o) {
				count++
				if !strings.HasPrefix(image, "10.0.0.1:5000/") {
					t.Errorf("%s pulls %s", apply.RefOf(o), image)
				}
			}
		}
	}
	if count < 10 {
		t.Errorf("found %d images only", count)
	}
}

func TestAnImageThatIsNamedIsMeant(t *testing.T) {
	all, err := render(Options{Registry: "reg.example", Image: "other.example/c@sha256:1"}, component.All(),
		detect.Found{}, Inventory{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all[2].Objects {
		for _, image := range mirror.Images(o) {
			if o.GetKind() != "Task" && image != "other.example/c@sha256:1" {
				t.Errorf("%s pulls %s", apply.RefOf(o), image)
			}
		}
	}
}

// TestRunsPullFromWhereTheControllerComesFrom: compile uses the image prefix in ConfigMap bflow-hub.
func TestRunsPullFromWhereTheControllerComesFrom(t *testing.T) {
	for _, row := range []struct {
		name string
		o    Options
		want string
	}{
		{"from their own registry", Options{Version: "v1"}, "localhost/bflow"},
		{"from a mirror", Options{Version: "v1", Registry: "10.0.0.1:5000"}, "10.0.0.1:5000/bflow"},
		{"from a folder of a mirror", Options{Version: "v1", Registry: "reg.example/mirrors/"}, "reg.example/mirrors/bflow"},
		{"from where a map says", Options{Version: "v1", ImageMap: map[string]string{"localhost/bflow/": "reg.example/b/"}},
			"reg.example/b"},
		{"beside an image that is named", Options{Version: "v1", Registry: "reg.example",
			Image: "other.example/x/bflow-controller@sha256:1"}, "other.example/x"},
	} {
		t.Run(row.name, func(t *testing.T) {
			all, err := render(row.o, component.All(), detect.Found{Platform: detect.Platform{Hub: "h"}}, Inventory{})
			if err != nil {
				t.Fatal(err)
			}
			var told, pulled, client string
			for _, o := range all[2].Objects {
				if o.GetName() == contract.ConfigMapHub {
					told, _, _ = unstructured.NestedString(o.Object, "data", contract.HubImages)
				}
				for _, image := range mirror.Images(o) {
					if o.GetKind() == "Task" {
						client = image
						continue
					}
					pulled = image
				}
			}
			if !strings.HasPrefix(client, row.want+"/bflow:") {
				t.Errorf("the task of experiments comes from %q, want %q", client, row.want)
			}
			if told != row.want || !strings.HasPrefix(pulled, row.want+"/bflow-controller") {
				t.Errorf("told %q, the controller comes from %q, want %q", told, pulled, row.want)
			}
		})
	}
}

func TestExportIsTheSameTextEveryTime(t *testing.T) {
	var texts [2]bytes.Buffer
	for i := range texts {
		if err := Export(&texts[i], Options{Version: "v1"}); err != nil {
			t.Fatal(err)
		}
	}
	if texts[0].String() != texts[1].String() {
		t.Error("two exports differ")
	}
	objects, err := upstream.Parse("export", texts[0].Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetName() == "bflow-controller"
	}); len(objects) < 150 || i < 0 {
		t.Errorf("%d objects, the controller at %d", len(objects), i)
	}
}

func TestImagesToMirrorAreListedOnce(t *testing.T) {
	pairs, err := Images(Options{Version: "v1", Registry: "reg.example"})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range pairs {
		if !strings.HasPrefix(p[1], "reg.example/") || strings.HasPrefix(p[0], "reg.example/") || i > 0 && pairs[i-1] == p {
			t.Errorf("line %d is %q", i, p)
		}
	}
}

func TestVersionsChangeOnlyWhenThatIsMeant(t *testing.T) {
	for _, row := range []struct {
		name, have, now string
		upgrade         bool
		want            string
	}{
		{name: "the first installation", now: "v1.1.0"},
		{name: "the same version", have: "v1.1.0", now: "v1.1.0"},
		{name: "a newer one needs the word upgrade", have: "v1.0.0", now: "v1.1.0", want: "bflow bootstrap upgrade"},
		{name: "and then it goes", have: "v1.0.0", now: "v1.1.0", upgrade: true},
		{name: "there is no way back", have: "v1.2.0", now: "v1.1.0", upgrade: true, want: "newer than v1.1.0"},
		{name: "a build without a version comes and goes", have: "dev", now: "3f2c1a0-dirty"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := checkVersion(survey{options: Options{Upgrade: row.upgrade},
				parts:     []Part{{Name: "X", Key: "x", Version: row.now}},
				inventory: Inventory{Settings: Settings{Versions: map[string]string{"x": row.have}}}})
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

func TestHowARunIsEnded(t *testing.T) {
	for _, row := range []struct {
		name, status, succeeded, want string
		over                          bool
	}{
		{name: "one that waits must not run its finally", status: "PipelineRunPending", succeeded: "Unknown",
			want: "Cancelled"},
		{name: "one that runs is to take its servers down", succeeded: "Unknown", want: "CancelledRunFinally"},
		{name: "one that has just been made", want: "CancelledRunFinally"},
		{name: "one that ends already is left at that", status: "StoppedRunFinally", succeeded: "Unknown", over: true},
		{name: "one that is over", succeeded: "False", over: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			run := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"status": row.status}}}
			if row.succeeded != "" {
				run.Object["status"] = map[string]any{"conditions": []any{
					map[string]any{"type": "Succeeded", "status": row.succeeded}}}
			}
			if got, over := endStatus(run); got != row.want || over != row.over {
				t.Errorf("got %q, %v", got, over)
			}
		})
	}
}

func TestOpenShiftAssignsUsers(t *testing.T) {
	all, err := render(Options{}, component.All(), detect.Found{Platform: detect.Platform{OpenShift: "4.19.1"}},
		Inventory{})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, c := range all {
		for _, o := range c.Objects {
			if o.GetKind() == "Deployment" {
				if err := writeYAML(&text, []*unstructured.Unstructured{o}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, field := range []string{"runAsUser:", "runAsGroup:", "fsGroup:"} {
		if strings.Contains(text.String(), field) {
			t.Errorf("a Deployment has %s", field)
		}
	}
	if !strings.Contains(text.String(), "runAsNonRoot: true") {
		t.Error("more than users was taken out")
	}
}

func TestNamespacesOfOthersAreNotForRuns(t *testing.T) {
	if err := (Options{Namespaces: []string{"bench", "team-a"}}).Validate(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"bflow-system", "kube-system", "tekton-pipelines", "Bench", ""} {
		if err := (Options{Namespaces: []string{name}}).Validate(); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

func TestTheControllersImageFollowsAnUpgrade(t *testing.T) {
	for _, row := range []struct{ name, was, named, want, err string }{
		{name: "a tag that is the version moves on", was: "reg.example/c:v1", want: "reg.example/c:v2"},
		{name: "another tag has to be named anew", was: "reg.example/c:stable", err: "--controller-image"},
		{name: "and so has a digest", was: "reg.example/c@sha256:1", err: "--controller-image"},
		{name: "unless it is", was: "reg.example/c@sha256:1", named: "reg.example/c@sha256:2",
			want: "reg.example/c@sha256:2"},
		{name: "the default needs no word", want: ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			o, err := Options{Upgrade: true, Version: "v2", Image: row.named}.followImage(
				Settings{Image: row.was, Versions: map[string]string{partBflow: "v1"}})
			if (err == nil) != (row.err == "") || err == nil && o.Image != row.want {
				t.Errorf("got %q, %v", o.Image, err)
			}
		})
	}
}

package upstream

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestVersionsAreThoseOfGoMod(t *testing.T) {
	for module, want := range map[string]string{"github.com/tektoncd/pipeline": TektonVersion,
		"sigs.k8s.io/kueue": KueueVersion} {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", module).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(string(out)); got != want {
			t.Errorf("go.mod has %s %s and the constant says %s: change it and run make generate", module, got, want)
		}
	}
	for name, text := range map[string][]byte{"tekton " + TektonVersion: tekton, "kueue " + KueueVersion: kueue} {
		head, _, _ := strings.Cut(string(text), "\n")
		_, version, _ := strings.Cut(name, " ")
		if !strings.Contains(head, " "+version+" ") || !strings.Contains(head, "do not edit") {
			t.Errorf("the header of %s is %q: run make generate", name, head)
		}
	}
}

// TestWhatIsInstalled shows reviewers which objects a new version adds and drops.
func TestWhatIsInstalled(t *testing.T) {
	for name, read := range map[string]func() ([]*unstructured.Unstructured, error){"tekton": Tekton, "kueue": Kueue} {
		t.Run(name, func(t *testing.T) {
			objects := must(t, read)
			var lines []string
			for _, o := range objects {
				lines = append(lines, strings.TrimSpace(o.GetKind()+" "+o.GetNamespace()+" "+o.GetName()))
			}
			slices.Sort(lines)
			got, file := strings.Join(lines, "\n")+"\n", filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("run with -update when this is meant (-want +got):\n%s", diff)
			}
		})
	}
}

func TestManifestsAreThoseOfARelease(t *testing.T) {
	for name, text := range map[string][]byte{"tekton": tekton, "kueue": kueue} {
		for _, word := range []string{"ko://", `version: devel`, `release: devel`, "staging-images",
			"imagePullPolicy: Always", "caBundle: "} {
			if strings.Contains(string(text), word) {
				t.Errorf("%s.yaml holds %q", name, word)
			}
		}
	}
	if want := "ghcr.io/tektoncd/pipeline/controller-10a3e32792f33651396d02b6855a6e36:" +
		TektonVersion; !strings.Contains(string(tekton), want) {
		t.Errorf("tekton.yaml does not name %s, as upstream's release does", want)
	}
}

func TestEveryObjectIsOneByItself(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range slices.Concat(must(t, Tekton), must(t, Kueue)) {
		key := strings.Join([]string{o.GroupVersionKind().Group, o.GetKind(), o.GetNamespace(), o.GetName()}, "/")
		if o.GetName() == "" || o.GetAPIVersion() == "" || seen[key] {
			t.Errorf("%s: without a name, or twice", key)
		}
		if _, has := o.Object["status"]; has {
			t.Errorf("%s has a status", key)
		}
		seen[key] = true
	}
}

func TestKueueQueuesNothingByItselfButJobs(t *testing.T) {
	i := slices.IndexFunc(must(t, Kueue), func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "ConfigMap" && o.GetName() == "kueue-manager-config"
	})
	text, _, _ := unstructured.NestedString(must(t, Kueue)[i].Object, "data", "controller_manager_config.yaml")
	var config struct {
		ManageJobsWithoutQueueName bool
		WaitForPodsReady           *struct{}
		Integrations               struct{ Frameworks []string }
		ObjectRetentionPolicies    struct {
			Workloads struct{ AfterFinished string }
		}
	}
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(config.Integrations.Frameworks, []string{"batch/job"}) || config.ManageJobsWithoutQueueName ||
		config.WaitForPodsReady != nil || config.ObjectRetentionPolicies.Workloads.AfterFinished != "168h" {
		t.Errorf("Kueue's configuration is %+v", config)
	}
}

// TestNoPodWaitsForKueue: its webhooks fail closed, so none may guard kinds that it does not queue.
func TestNoPodWaitsForKueue(t *testing.T) {
	for _, o := range must(t, Kueue) {
		hooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		for _, h := range hooks {
			text, err := yaml.Marshal(h)
			if err != nil {
				t.Fatal(err)
			}
			for _, resource := range []string{"pods", "deployments", "statefulsets", "leaderworkersets", "rayjobs"} {
				if strings.Contains(string(text), "- "+resource+"\n") {
					t.Errorf("%s %s stands before %s", o.GetKind(), o.GetName(), resource)
				}
			}
		}
	}
}

func must(t *testing.T, read func() ([]*unstructured.Unstructured, error)) []*unstructured.Unstructured {
	t.Helper()
	objects, err := read()
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

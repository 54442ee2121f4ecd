package cluster

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files anew")

// readPlan reads a plan that was written by hand, without a digest.
func readPlan(t *testing.T, path string) *runplan.RunPlan {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := runplan.Decode(doc)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func renderCase(t *testing.T, path string) ([]runtime.Object, error) {
	t.Helper()
	run := Run{ID: "demo-1", Attempt: 1, Hub: "a-uid",
		Owner: &metav1.OwnerReference{APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Name: "demo-1", UID: "b-uid"}}
	return Objects(readPlan(t, path), run, Rendering{Namespace: "bench", SimImage: "step.example/sim-engine:v2",
		OpenShift: strings.Contains(path, "openshift")})
}

func TestModelServersStayOnThePartOfAClusterThatIsTheirTarget(t *testing.T) {
	for _, row := range []struct {
		name string
		part map[string]string
		want map[string]string // nil: refused
	}{
		{"the whole cluster", nil, map[string]string{"pool": "gpu"}},
		{"a part beside what the plan wants", map[string]string{"zone": "a"}, map[string]string{"pool": "gpu", "zone": "a"}},
		{"the part that the plan wants", map[string]string{"pool": "gpu"}, map[string]string{"pool": "gpu"}},
		{"another part", map[string]string{"pool": "cpu"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			objects, err := Objects(readPlan(t, "testdata/render/vllm.input.yaml"), Run{ID: "demo-1", Attempt: 1},
				Rendering{Namespace: "bench", Part: row.part})
			if row.want == nil {
				if err == nil ||
					!strings.Contains(err.Error(),
						"node_selector wants pool=gpu, but the target consists of the nodes with pool=cpu") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			deployment := objects[len(objects)-1].(*appsv1.Deployment)
			if diff := cmp.Diff(row.want, deployment.Spec.Template.Spec.NodeSelector); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhatNothingWouldRemoveIsNotCreated: a run removes the kinds of its platform.
func TestWhatNothingWouldRemoveIsNotCreated(t *testing.T) {
	forgetful := platform.NewRegistry(platform.Platform{
		Name: "rhaiis", Kinds: []string{"Deployment"},
		Objects: func(r platform.Release) ([]runtime.Object, error) {
			return []runtime.Object{r.Deployment(), r.Service()}, nil
		},
	})
	_, err := Objects(readPlan(t, "testdata/render/vllm.input.yaml"), Run{ID: "demo-1", Attempt: 1},
		Rendering{Namespace: "bench", Platforms: forgetful})
	if err == nil || !strings.Contains(err.Error(), "nothing would remove Service") {
		t.Errorf("got %v", err)
	}
}

// TestSecretsAreCarriedToARemoteTarget: the Secrets of the run are on the hub.
func TestSecretsAreCarriedToARemoteTarget(t *testing.T) {
	plan := readPlan(t, "testdata/render/secrets.input.yaml")
	keys, err := SecretsOf(plan)
	if err != nil {
		t.Fatal(err)
	}
	values := map[runplan.SecretKey]string{}
	for _, k := range keys {
		values[k] = "s3cret-" + k.Key
	}
	objects, err := Objects(plan, Run{ID: "demo-1", Attempt: 1}, Rendering{Namespace: "bench", Secrets: values})
	if err != nil {
		t.Fatal(err)
	}
	secret := objects[len(objects)-2].(*corev1.Secret)
	want := map[string][]byte{"0": []byte("s3cret-pass.word"), "1": []byte("s3cret-token"), "2": []byte("s3cret-key")}
	if diff := cmp.Diff(want, secret.Data); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text, err := YAML(objects)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "s3cret") || strings.Contains(string(text), "czNjcm") ||
		strings.Count(string(text), "name: "+secret.Name) != 4 {
		t.Errorf("what is written down is\n%s", text)
	}
}

// TestWhatIsOwnedGoesWithAService of its release, which may be that of a router.
func TestWhatIsOwnedGoesWithAService(t *testing.T) {
	for _, input := range []string{"secrets", "llm-d"} {
		plan := readPlan(t, "testdata/render/"+input+".input.yaml")
		plan.Deployment.Env = map[string]string{"TOKEN": runplan.SecretKey{Name: "hub", Key: "token"}.Reference()}
		keys, err := SecretsOf(plan)
		if err != nil {
			t.Fatal(err)
		}
		values := map[runplan.SecretKey]string{}
		for _, k := range keys {
			values[k] = "s3cret"
		}
		objects, err := Objects(plan, Run{ID: "demo-1", Attempt: 1}, Rendering{Namespace: "bench", Secrets: values})
		if err != nil {
			t.Fatal(err)
		}
		server := apitest.New(t, "bench")
		if err := connect(t, server).Create(t.Context(), objects); err != nil {
			t.Errorf("%s: %v", input, err)
			continue
		}
		meta := func(path string) metav1.ObjectMeta {
			var object metav1.PartialObjectMetadata
			found := server.Get("/api/v1/namespaces/bench/" + path)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found, &object); err != nil {
				t.Fatal(err)
			}
			return object.ObjectMeta
		}
		service := meta("services/" + nameOf(objects[owner(objects)]))
		secret := meta("secrets/" + secretsName(runplan.Release(plan, "demo-1")))
		if len(secret.OwnerReferences) != 1 || secret.OwnerReferences[0].UID != service.UID {
			t.Errorf("%s: the Secret belongs to %v, not to Service %q", input, secret.OwnerReferences, service.Name)
		}
	}
}

func TestPlansRenderToTheirGoldenFiles(t *testing.T) {
	paths, err := filepath.Glob("testdata/render/*.input.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(path, ".input.yaml")
		t.Run(filepath.Base(name), func(t *testing.T) {
			objects, err := renderCase(t, path)
			golden, got := name+".error.txt", []byte(fmt.Sprintln(err))
			if err == nil {
				golden = name + ".output.yaml"
				if got, err = YAML(objects); err != nil {
					t.Fatal(err)
				}
			}
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestPodsAreRestricted checks the pods against the strictest level of Pod Security; only folders of the node are more
// than that, and only where a file asks for them.
func TestPodsAreRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, name := range []string{"sim", "sim-gpus", "sglang-openshift", "vllm"} {
		t.Run(name, func(t *testing.T) {
			objects, err := renderCase(t, "testdata/render/"+name+".input.yaml")
			if err != nil {
				t.Fatal(err)
			}
			pod := &objects[len(objects)-1].(*appsv1.Deployment).Spec.Template
			for _, c := range pod.Spec.Containers {
				if c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem {
					t.Errorf("container %s can write its root", c.Name)
				}
			}
			var refused []string
			for _, r := range evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec) {
				asked := name == "vllm" && strings.Contains(r.ForbiddenDetail, "fast")
				if !r.Allowed && !asked {
					refused = append(refused, r.ForbiddenReason+": "+r.ForbiddenDetail)
				}
			}
			if len(refused) > 0 {
				t.Error(refused)
			}
		})
	}
}

func TestARunGetsWhatItAskedFor(t *testing.T) {
	gpus, plain := readPlan(t, "testdata/render/sim-gpus.input.yaml"), platform.All().Named("kubernetes")
	for _, row := range []struct {
		name, annotation, want string
	}{
		{"enough was asked for", `{"nvidia.com/gpu":"4","bflow.dev/cluster-slot":"1"}`, ""},
		{"too little was asked for", `{"nvidia.com/gpu":"2"}`,
			`deploying "4-gpus": it needs 4 nvidia.com/gpu, but the run has requested 2; compile the experiment again`},
		{"nothing was asked for", ``,
			`deploying "4-gpus": it needs 4 nvidia.com/gpu, but the run has requested 0; compile the experiment again`},
		{"the annotation is damaged", `{`, `reading the requests of the run "{": unexpected end of JSON input`},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := ""
			if err := Covered(gpus, plain, row.annotation); err != nil {
				got = err.Error()
			}
			if got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
	if err := Covered(readPlan(t, "testdata/render/sim.input.yaml"), plain, ""); err != nil {
		t.Errorf("a plan without devices: %v", err)
	}
}

func TestCredentialsAreNotWrittenDown(t *testing.T) {
	objects, err := renderCase(t, "testdata/render/vllm.input.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pod := &objects[len(objects)-1].(*appsv1.Deployment).Spec.Template.Spec.Containers[0]
	pod.Args = append(pod.Args, "--api-key=geheim1", "--api-key", "geheim2", "--tokenizer-mode", "auto")
	pod.Env[2].Name, pod.Env[2].Value = "HF_TOKEN", "geheim3"
	text, err := YAML(objects)
	if err != nil || strings.Contains(string(text), "geheim") || !strings.Contains(string(text), "auto") {
		t.Error(errors.Join(err, errors.New(string(text))))
	}
}

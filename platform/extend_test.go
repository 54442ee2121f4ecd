package platform_test

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/profiles"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/provision/cluster"
)

// withNodePort are the platforms of bflow and the one of nodeport_test.go.
func withNodePort() platform.Registry {
	return append(platform.All(), platform.NewRegistry(nodePort())...)
}

// planned plans an experiment on a profile with these fields.
func planned(t *testing.T, fields string) ([]*runplan.RunPlan, problem.List) {
	t.Helper()
	text := fmt.Sprintf(`apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: outside}
spec: {%s, runtime: {image: "acme/vllm:v1", replicas: 2, tensor_parallelism: 2}}
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: try}
spec:
  model: {name: acme/tiny}
  deployment_profile: outside
  stages: {collect: false}
  load: {data: {input: 8, output: 8}, stages: [{rate: 1, duration: 1s}]}
`, fields)
	set, found := spec.LoadBytes(spec.Options{Platforms: withNodePort(), Shipped: profiles.FS}, "try.yaml", []byte(text))
	if found.Err() != nil {
		return nil, found
	}
	return plan.Plan(set.Experiments[0], set.Catalogue, plan.Options{
		Platforms: withNodePort(), ImagePrefix: "reg.example/bflow", Version: "v1", Undeployable: plan.RejectUndeployable,
	})
}

// TestAPlatformIsOneFile puts a platform of one file through every step, from an experiment to objects on a cluster.
func TestAPlatformIsOneFile(t *testing.T) {
	plans, found := planned(t, "platform: nodeport, mode: plain, nodeport: {port: 30080}")
	if found.Err() != nil || len(plans) != 1 {
		t.Fatalf("%d plans: %v", len(plans), found)
	}
	p := plans[0]
	if p.Queue.Requests["nvidia.com/gpu"] != "4" || p.Sinks.MLflow.Version != "nodeport-plain" {
		t.Errorf("the run requests %v, and measures %q", p.Queue.Requests, p.Sinks.MLflow.Version)
	}
	other, _ := planned(t, "platform: nodeport, mode: plain, nodeport: {port: 30081}")
	if other[0].Hash != p.Hash || other[0].Digest == p.Digest {
		t.Error("the port changes what is measured, or is not in the plan")
	}
	var compiled bytes.Buffer
	var one iter.Seq2[*runplan.RunPlan, error] = func(yield func(*runplan.RunPlan, error) bool) { yield(p, nil) }
	if err := compile.Write(&compiled, one, compile.Options{Version: "v1"}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(compiled.String(), `"nvidia.com/gpu":"4"`) {
		t.Errorf("compiled:\n%s", compiled.String())
	}
	objects, err := cluster.Objects(p, cluster.Run{ID: "r-1", Attempt: 1},
		cluster.Rendering{Namespace: "bench", Platforms: withNodePort()})
	if err != nil || len(objects) != 2 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	service, deployment := objects[0].(*corev1.Service), objects[1].(*appsv1.Deployment)
	if service.Spec.Type != corev1.ServiceTypeNodePort || service.Spec.Ports[0].NodePort != 30080 ||
		*deployment.Spec.Replicas != 2 {
		t.Errorf("%+v, %+v", service.Spec, deployment.Spec)
	}
}

func TestTheFieldsOfAPlatformAreChecked(t *testing.T) {
	for _, row := range []struct{ name, fields, want string }{
		{"a value out of range", "platform: nodeport, mode: plain, nodeport: {port: 80}",
			"try.yaml:4:58: spec.nodeport.port: "},
		{"an unknown field", "platform: nodeport, mode: plain, nodeport: {prt: 30080}",
			`unknown field "prt" (did you mean "port"?)`},
		{"a rule of the platform", "platform: nodeport, mode: plain", "spec.nodeport: required field is missing"},
		{"the fields of another one", "platform: kubernetes, mode: plain, nodeport: {port: 30080}",
			"spec.nodeport: only platform nodeport has these fields, found platform kubernetes"},
		{"a mode that it has not", "platform: nodeport, mode: plan, nodeport: {port: 30080}",
			`spec.mode: platform nodeport has modes ["plain"], found "plan" (did you mean "plain"?)`},
		{"an engine that it does not run", "platform: nodeport, mode: plain, nodeport: {port: 30080}, engine: {kind: sglang}",
			`engine "sglang" runs only on platform rhaiis (or llm-d, kubernetes)`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, found := planned(t, row.fields); !strings.Contains(found.Error(), row.want) {
				t.Errorf("got %v, want %q", found, row.want)
			}
		})
	}
}

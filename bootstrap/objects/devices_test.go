package objects_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/queue/devices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

const (
	ofReplicaSets = "system:serviceaccount:kube-system:replicaset-controller"
	ofDeployments = "system:serviceaccount:kube-system:deployment-controller"
	ofScaling     = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"
	ofTeam        = "system:serviceaccount:bench:default"
)

// devicesPolicy is the name of the rule for devices.
const devicesPolicy = "bflow-devices"

// Pod specs, as parts of what creates them.
const (
	plainPod  = `{containers: [{name: c, resources: {limits: {cpu: "1"}}}]}`
	gpuPod    = `{containers: [{name: c, resources: {limits: {nvidia.com/gpu: "1"}}}]}`
	initPod   = `{containers: [{name: c}], initContainers: [{name: i, resources: {requests: {amd.com/gpu: "1"}}}]}`
	claimPod  = `{containers: [{name: c}], resourceClaims: [{name: gpu, resourceClaimName: x}]}`
	networked = `{containers: [{name: c, resources: {limits: {rdma/hca: "1", ephemeral-storage: 1Gi}}}]}`
)

// makeObject returns an object of a kind with such pods, with a controller as owner if one is named.
func makeObject(t *testing.T, kind, pod, owner string, replicas int) *unstructured.Unstructured {
	t.Helper()
	text := map[string]string{
		"Pod":             `spec: ` + pod,
		"CronJob":         `spec: {jobTemplate: {spec: {template: {spec: ` + pod + `}}}}`,
		"LeaderWorkerSet": `spec: {leaderWorkerTemplate: {workerTemplate: {spec: ` + pod + `}}}`,
	}[kind]
	if text == "" {
		text = fmt.Sprintf("spec: {replicas: %d, template: {spec: %s}}", replicas, pod)
	}
	raw, err := yaml.YAMLToJSON([]byte("kind: " + kind + "\nmetadata: {name: x, namespace: bench}\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &o.Object); err != nil {
		t.Fatal(err)
	}
	if owner != "" {
		yes := true
		o.SetOwnerReferences([]metav1.OwnerReference{{Kind: owner, Name: "o", Controller: &yes}})
	}
	return o
}

func TestThePolicyOfDevices(t *testing.T) {
	p := compilePolicy(t, devicesPolicy)
	const refusal = "only runs of bflow may create pods that request devices in namespace bench"
	for _, row := range []struct {
		name    string
		by      string
		kind    string
		pod     string
		owner   string // kind of the controller that the object names
		old     string // pod of the object before; "" = it is made
		scaled  bool   // the object had another number of replicas before
		refused bool
	}{
		{name: "a pod of somebody without devices", by: somebody, kind: "Pod", pod: plainPod},
		{name: "one with a network card", by: somebody, kind: "Pod", pod: networked},
		{name: "one with a GPU", by: somebody, kind: "Pod", pod: gpuPod, refused: true},
		{name: "one whose first container takes it", by: ofTeam, kind: "Pod", pod: initPod, refused: true},
		{name: "one with a claim", by: somebody, kind: "Pod", pod: claimPod, refused: true},
		{name: "one that says that a ReplicaSet has made it", by: ofTeam, kind: "Pod", pod: gpuPod, owner: "ReplicaSet",
			refused: true},
		{name: "a pod of a run", by: theRunner, kind: "Pod", pod: gpuPod},
		{name: "a pod of a ReplicaSet, which was looked at", by: ofReplicaSets, kind: "Pod", pod: gpuPod,
			owner: "ReplicaSet"},
		{name: "the same where all controllers are one account", by: "system:kube-controller-manager", kind: "Pod",
			pod: gpuPod, owner: "ReplicaSet"},
		{name: "a pod of a kind that nobody has looked at", by: ofReplicaSets, kind: "Pod", pod: gpuPod, owner: "Robot",
			refused: true},
		{name: "a pod of Tekton", by: "system:serviceaccount:tekton-pipelines:tekton-pipelines-controller", kind: "Pod",
			pod: gpuPod, owner: "TaskRun", refused: true},
		{name: "a ReplicaSet of somebody", by: somebody, kind: "ReplicaSet", pod: gpuPod, refused: true},
		{name: "a ReplicaSet of a Deployment", by: ofDeployments, kind: "ReplicaSet", pod: gpuPod, owner: "Deployment"},
		{name: "a Deployment of somebody", by: somebody, kind: "Deployment", pod: gpuPod, refused: true},
		{name: "a Deployment of a run", by: theRunner, kind: "Deployment", pod: gpuPod},
		{name: "a Deployment that gets devices later", by: somebody, kind: "Deployment", pod: gpuPod, old: plainPod,
			refused: true},
		{name: "a Deployment of a run that gets more replicas", by: somebody, kind: "Deployment", pod: gpuPod, old: gpuPod,
			scaled: true, refused: true},
		{name: "one that is only marked", by: somebody, kind: "Deployment", pod: gpuPod, old: gpuPod},
		{name: "one of which Kubernetes writes the revision", by: ofDeployments, kind: "Deployment", pod: gpuPod,
			old: gpuPod},
		{name: "a StatefulSet", by: somebody, kind: "StatefulSet", pod: gpuPod, refused: true},
		{name: "a DaemonSet", by: somebody, kind: "DaemonSet", pod: gpuPod, refused: true},
		{name: "a Job", by: somebody, kind: "Job", pod: gpuPod, refused: true},
		{name: "a CronJob", by: somebody, kind: "CronJob", pod: gpuPod, refused: true},
		{name: "a ReplicationController", by: somebody, kind: "ReplicationController", pod: gpuPod, refused: true},
		{name: "a LeaderWorkerSet", by: somebody, kind: "LeaderWorkerSet", pod: gpuPod, refused: true},
		{name: "a Job without devices", by: somebody, kind: "Job", pod: plainPod},
	} {
		t.Run(row.name, func(t *testing.T) {
			q := request{by: row.by, kind: schema.GroupVersionKind{Version: "v1", Kind: row.kind},
				now: makeObject(t, row.kind, row.pod, row.owner, 1)}
			q.resource = schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(row.kind) + "s"}
			if row.old != "" {
				replicas := 1
				if row.scaled {
					replicas = 4
				}
				q.old = makeObject(t, row.kind, row.old, row.owner, replicas)
			}
			got := p.judge(t, q, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bench"}})
			if row.refused != strings.Contains(got, refusal) || !row.refused && got != "" {
				t.Errorf("got %q, refused should be %v", got, row.refused)
			}
		})
	}
}

func TestWhatARunHasDeployedIsNotScaledByOthers(t *testing.T) {
	p := compilePolicy(t, devicesPolicy)
	for _, row := range []struct {
		name, by, selector string
		refused            bool
	}{
		{"by somebody", somebody, "bflow.dev/release=r,bflow.dev/run=r", true},
		{"by an autoscaler", ofScaling, "bflow.dev/release=r,bflow.dev/run=r", true},
		{"by a task of a run", theRunner, "bflow.dev/release=r,bflow.dev/run=r", false},
		{"what others have deployed is", somebody, "app=web", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			scale := &unstructured.Unstructured{Object: map[string]any{"kind": "Scale",
				"spec": map[string]any{"replicas": int64(1)}, "status": map[string]any{"selector": row.selector}}}
			wished := scale.DeepCopy()
			_ = unstructured.SetNestedField(wished.Object, int64(8), "spec", "replicas")
			q := request{by: row.by, kind: schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"},
				old: scale, now: wished,
				resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, subresource: "scale"}
			got := p.judge(t, q, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bench"}})
			if row.refused != (got != "") {
				t.Errorf("got %q, refused should be %v", got, row.refused)
			}
		})
	}
}

// TestThePolicyKnowsEveryDevice that the queue counts, because the policy has a list of its own.
func TestThePolicyKnowsEveryDevice(t *testing.T) {
	p := compilePolicy(t, devicesPolicy)
	at := slices.IndexFunc(p.policy.Spec.Variables,
		func(v admissionregistrationv1.Variable) bool { return v.Name == "devices" })
	pattern := regexp.MustCompile(strings.Trim(p.policy.Spec.Variables[at].Expression, "'"))
	for _, name := range []string{"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb", "amd.com/gpu",
		"amd.com/cpx_nps4", "habana.ai/gaudi",
		"gpu.intel.com/i915", "gpu.intel.com/xe", "google.com/tpu", "aws.amazon.com/neuron", "gpu.example.com/card",
		"npu.example.com/core", "gpu/any", "cpu", "memory",
		"ephemeral-storage", "hugepages-2Mi", "rdma/hca", "vpc.amazonaws.com/pod-eni", "devices.kubevirt.io/kvm",
		"example.com/gpu"} {
		if devices.IsDevice(name) && !pattern.MatchString(name) {
			t.Errorf("%s is counted, and anybody may take it", name)
		}
		if !strings.Contains(name, "/") && pattern.MatchString(name) {
			t.Errorf("%s is no device", name)
		}
	}
	if !pattern.MatchString("aws.amazon.com/neuroncore") {
		t.Error("cores are the same silicon as devices")
	}
}

func TestAnyoneMayHaveDevicesWhereTheyAreTold(t *testing.T) {
	for _, o := range objectsOf(t, objects.Config{Pieces: pieces(component.Settings{"devicePods": []byte(`"anyone"`)},
		&component.Devices{})}) {
		if o.GetName() == devicesPolicy {
			t.Errorf("%s %s is there", o.GetKind(), o.GetName())
		}
	}
}

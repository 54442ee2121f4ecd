package doctor

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// patient is a cluster with the fault of a row, and the options of the check.
type patient struct {
	*apitest.Server
	options Options
	told    ReachReport
	mute    bool          // the pod says nothing
	off     time.Duration // by which the clock of its node is wrong
}

// healthy is a cluster on which every line is ok.
func healthy(t *testing.T) *patient {
	t.Helper()
	text, err := os.ReadFile("testdata/healthy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := &patient{Server: apitest.New(t)}
	p.Add(t, string(text))
	p.options = Options{Namespace: "bench", Version: "v0.1.0", Pod: true, Timeout: eventually.Limit,
		Reach: []string{"https://models.example"}}
	p.told = ReachReport{URLs: []URL{{URL: "https://models.example"}}}
	p.OnCreate(p.start)
	return p
}

// start does what a node does with the pod.
func (p *patient) start(q apitest.Request, made apitest.Object) {
	if q.Resource != "pods" {
		return
	}
	containers, _, _ := unstructured.NestedSlice(made, "spec", "containers")
	var statuses []any
	for _, c := range containers {
		container := c.(map[string]any)
		statuses = append(statuses, map[string]any{
			"name": container["name"], "image": container["image"],
			"state": map[string]any{"terminated": map[string]any{"exitCode": int64(0)}},
		})
	}
	if !p.mute {
		p.told.Time = time.Now().Add(p.off)
		told, err := json.Marshal(p.told)
		if err != nil {
			panic(err) // of our own type
		}
		p.Say(q.Namespace, q.Name, reachContainer, string(told))
	}
	p.Change(q.Path, func(o apitest.Object) {
		_ = unstructured.SetNestedField(o, "gpu-1", "spec", "nodeName")
		_ = unstructured.SetNestedSlice(o, statuses, "status", "containerStatuses")
	})
}

func (p *patient) lines(t *testing.T) []Line {
	t.Helper()
	lines, err := Run(context.Background(), p.Config(), p.options)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestAHealthyCluster(t *testing.T) {
	checks := map[string]bool{}
	for _, l := range healthy(t).lines(t) {
		checks[l.Check] = true
		if l.Level != OK || l.Remedy != "" || l.Says == "" {
			t.Errorf("%+v", l)
		}
	}
	if want := 14; len(checks) != want {
		t.Errorf("%d things were looked at, want %d: %v", len(checks), want, checks)
	}
}

// set returns a fault: a field of an object has a value.
func set(kind, name string, value any, path ...string) func(*testing.T, *patient) {
	return func(t *testing.T, p *patient) {
		p.Change(p.Find(t, kind, name), func(o apitest.Object) {
			if err := unstructured.SetNestedField(o, value, path...); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func gone(kind, name string) func(*testing.T, *patient) {
	return func(t *testing.T, p *patient) { p.Remove(p.Find(t, kind, name)) }
}

// addedBefore adds a target to the inventory without the rights of this version.
func addedBefore(_ *testing.T, p *patient) {
	p.Put("/apis/kueue.x-k8s.io/v1beta2/resourceflavors/far",
		apitest.Object{"spec": apitest.Object{"nodeLabels": apitest.Object{"bflow.dev/target": "far"}}})
	p.Put("/api/v1/namespaces/bflow-system/configmaps/bflow-inventory", apitest.Object{"data": apitest.Object{
		"settings.json": `{"versions": {"bflow": "v0.1.0"}, "namespaces": ["bench"], "targets": {"far": {"uid": "u"}}}`}})
}

func hidden(resource string) func(*testing.T, *patient) {
	return func(_ *testing.T, p *patient) {
		p.Refuse(func(q apitest.Request) (int, string) {
			if q.Resource == resource {
				return http.StatusForbidden, "you may not " + q.String()
			}
			return 0, ""
		})
	}
}

func denied(verb, resource string) func(*testing.T, *patient) {
	return func(_ *testing.T, p *patient) {
		p.Allow(func(v, _, r, sub string) bool { return v != verb || r+sub != resource })
	}
}

// inVain is a row whose pod never starts.
func inVain(plant func(*testing.T, *patient)) func(*testing.T, *patient) {
	return func(t *testing.T, p *patient) {
		p.options.Timeout = 3 * time.Second
		plant(t, p)
	}
}

// container sets the status of a container of the pod.
func container(name string, state map[string]any) func(*testing.T, *patient) {
	return func(_ *testing.T, p *patient) {
		p.OnCreate(func(q apitest.Request, made apitest.Object) {
			p.start(q, made)
			p.Change(q.Path, func(o apitest.Object) {
				statuses, _, _ := unstructured.NestedSlice(o, "status", "containerStatuses")
				for _, s := range statuses {
					if status := s.(map[string]any); status["name"] == name {
						status["state"] = state
					}
				}
				_ = unstructured.SetNestedSlice(o, statuses, "status", "containerStatuses")
			})
		})
	}
}

func active(status, message string) []any {
	return []any{map[string]any{"type": "Active", "status": status, "message": message}}
}

func TestEveryFaultHasItsLine(t *testing.T) {
	for _, row := range []struct {
		name  string
		plant func(*testing.T, *patient)
		check string
		level Level
		want  string // part of what the line says
		does  string // part of the remedy
	}{
		{"an old cluster", func(_ *testing.T, p *patient) { p.Version = "v1.29.3" }, "cluster", Warn,
			"v1.29.3 is older than 1.30.0", "update the cluster"},
		{"the API server is ahead", func(_ *testing.T, p *patient) {
			p.options.Now = func() time.Time { return time.Now().Add(-time.Minute) }
		}, "clock", Warn, "ahead of this machine", "chrony"},
		{"the API server is behind", func(_ *testing.T, p *patient) {
			p.options.Now = func() time.Time { return time.Now().Add(time.Hour) }
		}, "clock", Warn, "behind this machine", "chrony"},
		{"the API server hides its clock", func(_ *testing.T, p *patient) { p.Header = http.Header{"Date": {""}} }, "clock",
			Warn, "does not report its time", "by hand"},
		{"the clock of a node is wrong", func(_ *testing.T, p *patient) { p.off = -time.Hour - 30*time.Second }, "clock",
			Warn, "the node of the pod is 1h0m", "chrony"},

		{"runs may not be made", denied("create", "pipelineruns"), "permissions", Fail, "pipelineruns.tekton.dev (create)",
			"--clusterrole bflow-user"},
		{"logs may not be read", denied("get", "podslog"), "permissions", Warn, "pods/log (get)", "--clusterrole bflow-user"},
		{"reviews are refused", hidden("selfsubjectaccessreviews"), "access", Warn, "may not read: permissions",
			"ask an administrator"},

		{"no Tekton", func(t *testing.T, p *patient) { p.Unserve("tekton.dev/v1") }, "tekton", Fail,
			"Tekton Pipelines is not installed", "bflow bootstrap"},
		{"an API of Tekton without a controller", gone("Deployment", "tekton-pipelines-controller"), "tekton", Fail,
			"its controller was not found", "bflow bootstrap"},
		{"Tekton's webhook is down", set("Deployment", "tekton-pipelines-webhook", int64(0), "status", "availableReplicas"),
			"tekton", Fail, "Deployment tekton-pipelines-webhook in tekton-pipelines is not available",
			"kubectl get pods -n tekton-pipelines"},
		{"Tekton is down", set("Deployment", "tekton-pipelines-controller", int64(0), "status", "availableReplicas"),
			"tekton", Fail, "is not available: pod tekton-pipelines-controller-x: CrashLoopBackOff",
			"kubectl get pods -n tekton-pipelines"},
		{"an old Tekton", set("ConfigMap", "pipelines-info", "v0.59.0", "data", "version"), "tekton", Warn, "v0.59.0",
			"v1.13.0 or later"},
		{"a Tekton whose pods a restricted namespace refuses",
			set("ConfigMap", "feature-flags", "false", "data", "set-security-context"), "tekton", Fail, "set-security-context",
			"kubectl patch configmap feature-flags"},
		{"a Tekton whose flags may not be read", hidden("configmaps"), "access", Warn, "may not read: tekton",
			"ask an administrator"},

		{"no Kueue", func(t *testing.T, p *patient) { p.Unserve("kueue.x-k8s.io/v1beta2") }, "kueue", Fail,
			"Kueue is not installed", "bflow bootstrap"},
		{"an old Kueue", func(t *testing.T, p *patient) {
			p.Unserve("kueue.x-k8s.io/v1beta2")
			p.Serve("kueue.x-k8s.io/v1beta1", "Workload", true)
		}, "kueue", Fail, "serves v1beta1, and not v1beta2", "update Kueue"},
		{"Kueue is down", set("Deployment", "kueue-controller-manager", int64(0), "status", "availableReplicas"), "kueue",
			Fail, "is not available", "kubectl get pods -n kueue-system"},
		{"a Kueue that is older than tested", set("Deployment", "kueue-controller-manager", "v0.16.0", "metadata", "labels",
			"app.kubernetes.io/version"), "kueue", Warn, "v0.16.0", "v0.18.0 or later"},
		{"a Kueue that manages pods", set("ConfigMap", "kueue-manager-config", "integrations: {frameworks: [batch/job, pod]}",
			"data", "controller_manager_config.yaml"), "kueue", Warn, "manages single pods", "remove pod"},
		{"Deployments may not be read", hidden("deployments"), "access", Warn, "may not read: tekton, kueue, controller",
			"ask an administrator"},

		{"no controller", gone("Deployment", "bflow-controller"), "controller", Fail, "is not installed", "bflow bootstrap"},
		{"the controller is down", set("Deployment", "bflow-controller", int64(0), "status", "availableReplicas"),
			"controller", Fail,
			"is not available: pod bflow-controller-x: image reg.example/ctl: ImagePullBackOff: no such host",
			"kubectl describe pods -n bflow-system"},
		{"another version of the controller", set("Deployment", "bflow-controller", "v0.0.9", "metadata", "labels",
			"app.kubernetes.io/version"), "controller", Warn, "is v0.0.9 and this bflow is v0.1.0", "bflow bootstrap upgrade"},

		{"a server without admission policies",
			func(t *testing.T, p *patient) { p.Unserve("admissionregistration.k8s.io/v1") }, "policy", Warn,
			"does not support admission policies", "1.30.0 or later"},
		{"no rules for runs", gone("ValidatingAdmissionPolicy", "bflow-runs"), "policy", Fail,
			"runs can start without passing their queue", "bflow bootstrap"},
		{"rules that bind nothing", gone("ValidatingAdmissionPolicyBinding", "bflow-runs"), "policy", Fail,
			"validatingadmissionpolicybindings bflow-runs is missing", "bflow bootstrap"},

		{"no namespace", gone("Namespace", "bench"), "namespace", Fail, "does not exist",
			"bflow bootstrap namespace add bench"},
		{"a namespace that is not for runs", set("Namespace", "bench", "no", "metadata", "labels", "bflow.dev/enabled"),
			"namespace", Fail, "label bflow.dev/enabled=true is missing", "bflow bootstrap namespace add bench"},
		{"no identity of the hub", gone("ConfigMap", "bflow-hub"), "namespace", Fail, "ConfigMap bflow-hub is missing",
			"bflow bootstrap namespace add bench"},
		{"the identity of another hub", set("ConfigMap", "bflow-hub", "ffff", "data", "hub"), "namespace", Fail,
			"belongs to another cluster", "bflow bootstrap namespace add bench"},
		{"no account for tasks", gone("ServiceAccount", "bflow-runner"), "namespace", Fail,
			"ServiceAccount bflow-runner is missing", "bflow bootstrap namespace add bench"},

		{"a namespace that enforces nothing", func(t *testing.T, p *patient) {
			p.Change(p.Find(t, "Namespace", "bench"), func(o apitest.Object) {
				unstructured.RemoveNestedField(o, "metadata", "labels", "pod-security.kubernetes.io/enforce")
			})
		}, "pod security", Warn, "enforces nothing", "enforce=restricted"},
		{"a namespace that enforces privileged", set("Namespace", "bench", "privileged", "metadata", "labels",
			"pod-security.kubernetes.io/enforce"), "pod security", Warn, "enforces privileged", "enforce=restricted"},
		{"a namespace that may not be read", hidden("namespaces"), "access", Warn, "may not read: pod security",
			"ask an administrator"},

		{"no storage", gone("StorageClass", "standard"), "storage", Fail, "there is no StorageClass", "--results-claim"},
		{"no default storage", set("StorageClass", "standard", "false", "metadata", "annotations",
			"storageclass.kubernetes.io/is-default-class"), "storage", Fail, "no StorageClass is the default",
			"is-default-class=true"},
		{"two default classes", func(t *testing.T, p *patient) {
			p.Add(t,
				`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: b, annotations: `+
					`{storageclass.kubernetes.io/is-default-class: "true"}}, provisioner: x}`)
		}, "storage", Warn, "2 StorageClasses are the default", "leave the annotation on one"},
		{"storage that chooses nodes", set("StorageClass", "standard", "Immediate", "volumeBindingMode"), "storage", Warn,
			"binds a volume before its pods are scheduled", "WaitForFirstConsumer"},

		{"no GPUs", func(t *testing.T, p *patient) {
			set("Node", "gpu-1", map[string]any{"cpu": "8"}, "status", "allocatable")(t, p)
			set("Node", "gpu-1", map[string]any{"cpu": "8"}, "status", "capacity")(t, p)
		}, "gpus", Warn, "no node offers an accelerator", "GPU operator"},
		{"an ill GPU", set("Node", "gpu-1", "7", "status", "allocatable", "nvidia.com/gpu"), "gpus", Warn,
			"1 of 8 nvidia.com/gpu on node gpu-1 are unhealthy", "nvidia-smi"},
		{"a cordoned node", set("Node", "gpu-1", true, "spec", "unschedulable"), "gpus", Warn, "gpu-1 (cordoned)",
			"kubectl uncordon"},
		{"nodes that may not be read", hidden("nodes"), "access", Warn, "may not read: gpus", "ask an administrator"},

		{"a target that was added by an earlier version", addedBefore, "targets", Warn,
			`on target "far" lack permissions that this version needs for runs of namespace bench`,
			"bflow target add far --kubeconfig FILE"},
		{"no queue in the namespace", gone("LocalQueue", "local"), "queue", Fail, `localqueues "local" is missing`,
			"bflow bootstrap namespace add bench"},
		{"no queue of the target", gone("ClusterQueue", "local"), "queue", Fail, `clusterqueues "local" is missing`,
			"bflow bootstrap"},
		{"no flavor", gone("ResourceFlavor", "local"), "queue", Fail, `resourceflavors "local" is missing`,
			"bflow bootstrap"},
		{"a check that nobody serves", set("AdmissionCheck", "bflow-local", []any{}, "status", "conditions"), "queue", Fail,
			"has no active controller yet", "bflow-controller"},
		{"a queue that is not active", set("ClusterQueue", "local", active("False", "references inactive check"), "status",
			"conditions"), "queue", Fail, "not active: references inactive check", "bflow-controller"},
		{"a stopped queue", set("ClusterQueue", "local", "Hold", "spec", "stopPolicy"), "queue", Fail, "is stopped (Hold)",
			"kubectl patch clusterqueues local"},
		{"a queue without quota", set("ClusterQueue", "local", []any{}, "spec", "resourceGroups"), "queue", Fail,
			"has no quota yet", "sets the quota from the nodes"},
		{"a queue that does not know the GPUs", set("ClusterQueue", "local",
			[]any{map[string]any{"coveredResources": []any{"bflow.dev/cluster-slot"}}}, "spec", "resourceGroups"), "queue", Fail,
			"not nvidia.com/gpu of the nodes", "sets the quota from the nodes"},

		{"an image that is not there", container("collect",
			map[string]any{"waiting": map[string]any{"reason": "ErrImagePull",
				"message": `failed to resolve reference "x": not found`}}), "images", Fail,
			"reg.example/bflow/collect:v0.1.0 cannot be pulled on node gpu-1: ErrImagePull: not found", "bflow images push"},
		{"a node that does nothing", inVain(container("collect",
			map[string]any{"waiting": map[string]any{"reason": "ContainerCreating"}})), "images", Fail,
			"did not start on node gpu-1 in time", "kubectl describe node gpu-1"},
		{"no node for a pod", inVain(func(_ *testing.T, p *patient) {
			p.OnCreate(func(q apitest.Request, _ apitest.Object) {
				if q.Resource == "pods" {
					p.Change(q.Path, func(o apitest.Object) {
						_ = unstructured.SetNestedSlice(o, []any{map[string]any{"type": "PodScheduled", "status": "False",
							"message": "0/1 nodes are available"}}, "status", "conditions")
					})
				}
			})
		}), "images", Fail, "cannot be scheduled: 0/1 nodes are available", "scheduler"},
		{"pods may not be made", func(_ *testing.T, p *patient) {
			p.Refuse(func(q apitest.Request) (int, string) {
				if q.String() == "create pods" {
					return http.StatusForbidden, "you may not create pods"
				}
				return 0, ""
			})
		}, "images", Fail, "a pod of bflow cannot be created in namespace bench: you may not create pods", "--no-pod"},
		{"nobody tells where the images are", gone("Deployment", "bflow-controller"), "images", Warn, "is not known",
			"--image-prefix"},

		{"a URL that must be reached", func(_ *testing.T, p *patient) { p.told.URLs[0].Error = "no such host" }, "egress",
			Fail, "pods do not reach https://models.example: no such host", "firewall"},
		{"a hub of models that nobody asked for", func(_ *testing.T, p *patient) {
			p.options.Reach, p.told.URLs[0].Error = nil, "no such host"
		}, "egress", Warn, "pods do not reach", "HF_ENDPOINT"},
		{"a pod that does not tell", func(_ *testing.T, p *patient) { p.mute = true }, "egress", Warn,
			"what pods can reach could not be checked", "lines above"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := healthy(t)
			row.plant(t, p)
			lines := p.lines(t)
			for _, l := range lines {
				if l.Check == row.check && l.Level == row.level && strings.Contains(l.Says, row.want) &&
					strings.Contains(l.Remedy, row.does) {
					return
				}
			}
			t.Errorf("no line %q of level %s says %q and %q", row.check, row.level, row.want, row.does)
			for _, l := range lines {
				t.Logf("%+v", l)
			}
		})
	}
}

func TestAClusterThatDoesNotAnswer(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	lines, err := Run(context.Background(), &rest.Config{Host: s.URL, Timeout: time.Second}, Options{Namespace: "bench"})
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 1 || lines[0].Level != Fail || !strings.Contains(lines[0].Says, "does not answer") || !Failed(lines) {
		t.Errorf("%+v", lines)
	}
}

func TestThePodIsGoneAfterwards(t *testing.T) {
	p := healthy(t)
	p.lines(t)
	if left := p.List("/api/v1/namespaces/bench/pods/"); len(left) != 0 {
		t.Errorf("%q are left", left)
	}
}

func TestWithoutAPodNothingIsMade(t *testing.T) {
	p := healthy(t)
	p.options.Pod = false
	p.OnCreate(func(q apitest.Request, _ apitest.Object) { t.Errorf("made one of %s", q.Resource) })
	for _, l := range p.lines(t) {
		if l.Check == "images" || l.Check == "egress" {
			t.Errorf("%+v", l)
		}
	}
}

func TestWhatAPodReaches(t *testing.T) {
	up := httptest.NewServer(http.NotFoundHandler()) // any answer is one
	t.Cleanup(up.Close)
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	got := Reach(context.Background(), up.Client(), time.Unix(7, 0), []string{up.URL, down.URL, "://"})
	if got.URLs[0].Error != "" || !strings.Contains(got.URLs[1].Error, "refused") ||
		!strings.Contains(got.URLs[2].Error, "missing protocol") {
		t.Errorf("%+v", got)
	}
}

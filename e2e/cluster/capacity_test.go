//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"bflow.dev/bflow/queue/devices"
)

const gpu = "nvidia.com/gpu"

var (
	nodes      = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// TestPodsOfOthersTakeFromTheQueue: what somebody else holds is not promised to runs, and a run that asks for more than
// is left says so, waits, and starts when it is given back.
func TestPodsOfOthersTakeFromTheQueue(t *testing.T) {
	l := newLab(t, alone)
	l.quota().awaitFree(beforeForce)
	all := l.quota().promised()[gpu]
	remove := l.quota().holdGPUs("default", all-2)
	l.await(10*time.Minute, "the queue to promise 2 GPUs", func() string {
		if n := l.quota().promised()[gpu]; n != 2 {
			return fmt.Sprintf("it promises %d of %d", n, all)
		}
		return ""
	})
	run := l.submit(l.write("four.yaml", fourGPUs))[0]
	l.awaitAnswer(10*time.Minute, run+" to say why it waits", func() string {
		if text := l.must("status", run); !strings.Contains(text, gpu) {
			return text
		}
		return ""
	})
	if state := l.run(run); state.GetAnnotations()["bflow.dev/admitted"] != "" {
		t.Fatalf("%s was let start beside a pod that holds its devices", run)
	}
	remove()
	l.await(10*time.Minute, run+" to succeed", func() string {
		status, reason := condition(l.run(run))
		if status == "False" {
			t.Fatalf("%s failed: %s", run, reason)
		}
		if status != "True" {
			return "it is " + reason
		}
		return ""
	})
	if n := l.quota().promised()[gpu]; n != all {
		t.Errorf("the queue promises %d GPUs, before it were %d", n, all)
	}
}

// TestACordonedNodePromisesNothing where no run holds anything on it.
func TestACordonedNodePromisesNothing(t *testing.T) {
	l := newLab(t, alone)
	l.quota().awaitFree(beforeForce)
	all := l.quota().promised()[gpu]
	node, n := l.quota().gpuNode()
	l.quota().cordon(node, true)
	t.Cleanup(func() { l.quota().cordon(node, false) })
	l.await(10*time.Minute, "the quota of the node to go", func() string {
		if got := l.quota().promised()[gpu]; got != all-n {
			return fmt.Sprintf("%d of %d are promised, the node has %d", got, all, n)
		}
		return ""
	})
	l.quota().cordon(node, false)
	l.await(10*time.Minute, "the quota of the node to come back", func() string {
		if got := l.quota().promised()[gpu]; got != all {
			return fmt.Sprintf("%d of %d are promised", got, all)
		}
		return ""
	})
}

// promised is what ClusterQueue local promises, by resource.
func (q quota) promised() map[string]int64 {
	q.l.t.Helper()
	return q.promisedBy("local")
}

// promisedBy is what the ClusterQueue of a target promises, by resource.
func (q quota) promisedBy(target string) map[string]int64 {
	q.l.t.Helper()
	queue, err := q.l.getIn(clusterQueue, "", target)
	if err != nil {
		q.l.t.Fatal(err)
	}
	out := map[string]int64{}
	groups, _, _ := unstructured.NestedSlice(queue.Object, "spec", "resourceGroups")
	for _, group := range groups {
		flavors, _, _ := unstructured.NestedSlice(group.(map[string]any), "flavors")
		for _, flavor := range flavors {
			resources, _, _ := unstructured.NestedSlice(flavor.(map[string]any), "resources")
			for _, r := range resources {
				name, _, _ := unstructured.NestedString(r.(map[string]any), "name")
				q := resource.MustParse(fmt.Sprint(r.(map[string]any)["nominalQuota"]))
				out[name] += q.Value()
			}
		}
	}
	return out
}

// holdGPUs starts a pod of somebody else, waits until a node has it, and returns how to remove it.
func (q quota) holdGPUs(in string, n int64) (remove func()) {
	q.l.t.Helper()
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "holds-gpus-", Namespace: in},
		Spec: corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(0)), Containers: []corev1.Container{{
			Name: "pause", Image: "registry.k8s.io/pause:3.10", ImagePullPolicy: corev1.PullIfNotPresent,
			Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{gpu: *resource.NewQuantity(n, resource.DecimalSI)}},
		}}},
	}
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	if err != nil {
		q.l.t.Fatal(err)
	}
	made, err := q.l.api.Resource(pods).Namespace(in).Create(q.l.t.Context(), &unstructured.Unstructured{Object: tree},
		metav1.CreateOptions{})
	if err != nil {
		q.l.t.Fatal(err)
	}
	remove = sync.OnceFunc(func() {
		if err := q.l.api.Resource(pods).Namespace(in).Delete(context.WithoutCancel(q.l.t.Context()), made.GetName(),
			metav1.DeleteOptions{}); err != nil {
			q.l.t.Errorf("removing pod %s: %v", made.GetName(), err)
		}
	})
	q.l.t.Cleanup(remove)
	q.l.await(10*time.Minute, "a node to take the pod", func() string {
		found, err := q.l.getIn(pods, in, made.GetName())
		if err != nil {
			return err.Error()
		}
		if node, _, _ := unstructured.NestedString(found.Object, "spec", "nodeName"); node == "" {
			return "it has none"
		}
		return ""
	})
	return remove
}

// gpuNode returns a node that claims GPUs, and how many.
func (q quota) gpuNode() (string, int64) {
	q.l.t.Helper()
	list, err := q.l.api.Resource(nodes).List(q.l.t.Context(), metav1.ListOptions{})
	if err != nil {
		q.l.t.Fatal(err)
	}
	for i := range list.Items {
		var node corev1.Node
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &node); err != nil {
			q.l.t.Fatal(err)
		}
		if n := devices.Of([]corev1.Node{node}, nil).Total()[gpu]; n > 0 {
			return node.Name, n
		}
	}
	q.l.t.Fatal("no node claims GPUs")
	return "", 0
}

func (q quota) cordon(node string, yes bool) {
	q.l.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, yes)
	if _, err := q.l.api.Resource(nodes).Patch(context.WithoutCancel(q.l.t.Context()), node, types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		q.l.t.Errorf("cordoning %s: %v", node, err)
	}
}

package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// Statuses as the kubelet and the scheduler write them, shortened.
const (
	starting = `{phase: Pending, conditions: [{type: PodScheduled, status: "True"}], containerStatuses: [{name: ` +
		`vllm, image: "reg/x:1", state: {waiting: {reason: ContainerCreating}}}]}`
	running = `{phase: Running, containerStatuses: [{name: vllm, state: {running: {}}}]}`
	pulling = `{phase: Pending, containerStatuses: [{name: vllm, image: "reg/x:1", state: {waiting: {reason: ` +
		`ErrImagePull, message: 'dial tcp 10.0.0.1:443: i/o timeout'}}}]}`
	backOff = `{phase: Pending, containerStatuses: [{name: vllm, image: "reg/x:1", state: {waiting: {reason: ` +
		`ImagePullBackOff, message: 'Back-off pulling image "reg/x:1": dial tcp 10.0.0.1:443: i/o timeout'}}}]}`
	noRoom = `{phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: ` +
		`'0/1 nodes are available: 1 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: 0/1 nodes ` +
		`are available: 1 No preemption victims found for incoming pod.'}]}`
)

func crash(restarts, code int, reason string) string {
	return fmt.Sprintf(`{phase: Running, containerStatuses: [{name: vllm, restartCount: %d, state: {waiting: {reason: CrashLoopBackOff, message: back-off 10s restarting failed container}},
  lastState: {terminated: {exitCode: %d, reason: %s}}}]}`, restarts, code, reason)
}

// waitsFor is the status of a pod whose container cannot run, and why.
func waitsFor(reason, message string) string {
	return fmt.Sprintf(
		`{phase: Pending, containerStatuses: [{name: vllm, state: {waiting: {reason: %s, message: '%s'}}}]}`, reason, message)
}

// at is a status that a pod has from a time on, in seconds.
type at struct {
	second int
	status string
}

func TestStartsThatCannotSucceedEndEarly(t *testing.T) {
	for _, row := range []struct {
		name  string
		never bool // no node could hold the pod
		seen  []at
		end   int    // second in which the wait ends; -1: it does not
		want  string // reason: part of the sentence
	}{
		{name: "a pod that comes up is left alone", seen: []at{{0, starting}, {5, running}, {400, running}}, end: -1},
		{name: "an image that does not exist ends the wait at once", end: 1,
			want: "ImagePull: image \"reg/x:1\" of container vllm of pod p-0 cannot be pulled (ErrImagePull): rpc error: " +
				"not found",
			seen: []at{{0, starting}, {1, strings.Replace(pulling, "dial tcp 10.0.0.1:443: i/o timeout", "rpc error: not found",
				1)}}},
		{name: "a registry that wants a login ends the wait at once", end: 0, want: "ImagePull: ",
			seen: []at{{0, strings.Replace(backOff, "dial tcp 10.0.0.1:443: i/o timeout", "401 Unauthorized", 1)}}},
		{name: "a registry that is away is tried three times", end: 60, want: "ImagePull: ",
			seen: []at{{0, pulling}, {10, backOff}, {25, pulling}, {26, pulling}, {40, backOff}, {60, pulling}}},
		{name: "a registry that comes back is forgiven", end: -1,
			seen: []at{{0, pulling}, {10, backOff}, {25, pulling}, {40, starting}, {50, running}, {500, running}}},
		{name: "a name that is no image ends the wait at once", end: 0, want: "InvalidImageName: ",
			seen: []at{{0, strings.Replace(pulling, "ErrImagePull", "InvalidImageName", 1)}}},
		{name: "one crash is no loop", seen: []at{{0, crash(1, 1, "Error")}, {60, running}}, end: -1},
		{name: "three crashes are a loop", end: 30,
			want: "CrashLoopBackOff: container vllm of pod p-0 ended with exit code 1, 3 times",
			seen: []at{{0, crash(1, 1, "Error")}, {12, crash(2, 1, "Error")}, {30, crash(3, 1, "Error")}}},
		{name: "wrong arguments stay wrong", end: 0,
			want: "CrashLoopBackOff: container vllm of pod p-0 ended with exit code 2", seen: []at{{0, crash(1, 2, "Error")}}},
		{name: "a program that is not in the image stays away", end: 0, want: "StartError: ",
			seen: []at{{0, crash(0, 128, "StartError")}}},
		{name: "too little memory stays too little", end: 0,
			want: "OOMKilled: container vllm of pod p-0 ended with more memory than its limit",
			seen: []at{{0, crash(1, 137, "OOMKilled")}}},
		{name: "a Secret that is not there ends the wait at once", end: 0,
			want: `CreateContainerConfigError: container vllm of pod p-0 cannot be created: secret "key" not found`,
			seen: []at{{0, waitsFor("CreateContainerConfigError", `secret "key" not found`)}}},
		{name: "a kubelet that has not read a ConfigMap yet gets a minute", end: 60, want: "CreateContainerConfigError: ",
			seen: []at{{0, waitsFor("CreateContainerConfigError",
				"failed to sync configmap cache: timed out waiting for the condition")}, {70, running}}},
		{name: "a node that has no time to make a container gets a minute", end: -1,
			seen: []at{{0, waitsFor("CreateContainerError", "context deadline exceeded")},
				{30, waitsFor("CreateContainerError", "failed to reserve container name vllm_p-0: name is reserved for 4f3")},
				{50, running}, {90, running}}},
		{name: "a container that its node could not start in time is started again", end: -1,
			seen: []at{{0, waitsFor("RunContainerError", "failed to create containerd task: timed out")}, {50, running},
				{90, running}}},
		{name: "a container that cannot be started ends the wait at once", end: 0,
			want: "RunContainerError: container vllm of pod p-0 cannot be started: no such device",
			seen: []at{{0, waitsFor("RunContainerError", "no such device")}}},
		{name: "no room now is borne for five minutes", seen: []at{{0, noRoom}, {299, noRoom}, {301, noRoom}}, end: 300,
			want: "Unschedulable: pod p-0 fits on no node: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu; for 5m0s"},
		{name: "room within five minutes is in time", seen: []at{{0, noRoom}, {299, starting}, {302, noRoom}, {400, running}},
			end: -1},
		{name: "no room ever ends the wait at once", never: true, seen: []at{{0, noRoom}}, end: 0,
			want: "Unschedulable: pod p-0 fits on no node: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu; no node " +
				"can ever fit it: too small"},
		{name: "a pod that its node evicted is made again",
			seen: []at{{0, `{phase: Failed, reason: Evicted, message: The node was low on resource}`}, {300, running}}, end: -1},
		{name: "an init container that is done is fine", end: -1,
			seen: []at{
				{0,
					`{phase: Pending, initContainerStatuses: [{name: download, state: {terminated: {exitCode: 0, reason: ` +
						`Completed}}}], containerStatuses: [{name: vllm, state: {waiting: {reason: PodInitializing}}}]}`},
				{200, running}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			j := judge{fits: func(*corev1.Pod) (bool, string) { return !row.never, "too small" }}
			end, got := play(t, &j, row.seen)
			if end != row.end || !strings.HasPrefix(got, row.want) {
				t.Errorf("ended in second %d: %s\nwant      second %d: %s", end, got, row.end, row.want)
			}
		})
	}
}

// play shows the judge what changes when it changes, and wakes it when it asked for that.
func play(t *testing.T, j *judge, seen []at) (int, string) {
	t.Helper()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var wake time.Time
	var pod *corev1.Pod
	for _, s := range seen {
		now := begin.Add(time.Duration(s.second) * time.Second)
		for !wake.IsZero() && !wake.After(now) {
			when := wake
			var fatal *symptom
			if fatal, wake = j.look(when, []*corev1.Pod{pod}, nil); fatal != nil {
				return int(when.Sub(begin).Seconds()), fatal.reason + ": " + fatal.text
			}
		}
		pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p-0", UID: types.UID("u")}}
		pod.Spec.InitContainers = []corev1.Container{{Name: "download"}}
		if err := yaml.UnmarshalStrict([]byte(s.status), &pod.Status); err != nil {
			t.Fatal(err)
		}
		var fatal *symptom
		if fatal, wake = j.look(now, []*corev1.Pod{pod}, nil); fatal != nil {
			return s.second, fatal.reason + ": " + fatal.text
		}
	}
	return -1, ""
}

const webhookDown = `Internal error occurred: failed calling webhook "mpod.example.org": failed to call webhook: ` +
	`Post "https://w.x.svc:443/p?timeout=10s": dial tcp 10.96.7.1:443: connect: connection refused`

func TestPodsThatMayNotBeMadeEndTheWait(t *testing.T) {
	for _, row := range []struct {
		name, message string
		at            time.Duration
		fatal         bool
	}{
		{"Pod Security refuses for good",
			`pods "x" is forbidden: violates PodSecurity "restricted:latest": hostPath volumes (volume "fast")`, 0, true},
		{"a quota may have room again", `pods "x" is forbidden: exceeded quota: gpus`, 0, false},
		{"a quota has a minute", `pods "x" is forbidden: exceeded quota: gpus`, time.Minute, true},
		{"a webhook that is down may come up", webhookDown, 0, false},
		{"a webhook that is down has two minutes", webhookDown, 119 * time.Second, false},
		{"a webhook that stays down ends the wait", webhookDown, 2 * time.Minute, true},
		{"a webhook without a pod may get one",
			`Internal error occurred: failed calling webhook "mpod.example.org": failed to call webhook: Post ` +
				`"https://w.x.svc:443/p?timeout=10s": no endpoints available for service "w"`, 0, false},
		{"a webhook that is slow may be quicker",
			`Internal error occurred: failed calling webhook "mpod.example.org": failed to call webhook: Post ` +
				`"https://w.x.svc:443/p?timeout=10s": context deadline exceeded`, 0, false},
		{"a webhook that is called from too many places",
			`the server has received too many requests and has asked us to try again later`, 0, false},
		{"a quota that is written by others too",
			`Operation cannot be fulfilled on resourcequotas "gpus": the object has been modified; please apply your ` +
				`changes to the latest version and try again`, 0, false},
		{"a store that is away may come back", `etcdserver: request timed out`, 0, false},
		{"a webhook that says no says it for good",
			`admission webhook "policy.example.org" denied the request: images by tag: connection refused to them`, 0, true},
		{"an account that is not there",
			`pods "x-" is forbidden: error looking up service account bench/x: serviceaccount "x" not found`, 0, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate",
					Message: row.message}}}}
			var j judge
			j.look(time.Unix(0, 0), nil, d)
			if fatal, _ := j.look(time.Unix(0, 0).Add(row.at), nil, d); (fatal != nil) != row.fatal {
				t.Errorf("got %v", fatal)
			}
		})
	}
}

func TestAWaitSaysWhyNoPodIsMade(t *testing.T) {
	deployment := map[string]any{"metadata": map[string]any{"name": "d"}}
	w := wait{workloads: map[string][]*unstructured.Unstructured{"Deployment": {{Object: deployment}}}}
	if got := w.describe(); got != "no pod was created yet" {
		t.Error(got)
	}
	deployment["status"] = map[string]any{"conditions": []any{map[string]any{
		"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": webhookDown}}}
	if got := w.describe(); got != "the pods of deployment d cannot be created now: "+webhookDown {
		t.Error(got)
	}
}

func TestThreeLostPodsAreTooMany(t *testing.T) {
	lost := func(n int) (pods []*corev1.Pod) {
		for i := range n {
			pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p-", i)},
				Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}})
		}
		return pods
	}
	var j judge
	if fatal, _ := j.look(time.Unix(0, 0), lost(2), nil); fatal != nil {
		t.Errorf("two: %v", fatal)
	}
	if fatal, _ := j.look(time.Unix(1, 0), lost(3), nil); fatal == nil || fatal.reason != "Evicted" {
		t.Errorf("three: %v", fatal)
	}
}

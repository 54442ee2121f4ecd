package kube_test

import (
	"testing"

	"bflow.dev/bflow/internal/kube"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestPodTrouble(t *testing.T) {
	for _, row := range []struct{ name, status, want string }{
		{
			name:   "a pod that pulls its image is only slow",
			status: "{containerStatuses: [{state: {waiting: {reason: ContainerCreating}}}]}",
		},
		{
			name:   "no node fits",
			status: "{conditions: [{type: PodScheduled, status: 'False', message: 0/1 nodes}]}",
			want:   "Unschedulable: 0/1 nodes",
		},
		{
			name:   "an image is not there",
			status: "{containerStatuses: [{state: {waiting: {reason: ImagePullBackOff, message: Back-off}}}]}",
			want:   "ImagePullBackOff: Back-off",
		},
		{
			name: "an init container crashes",
			status: "{initContainerStatuses: [{state: {waiting: {reason: CrashLoopBackOff}}, " +
				"lastState: {terminated: {exitCode: 2}}}]}",
			want: "CrashLoopBackOff: its last exit code was 2",
		},
		{name: "a pod that runs", status: "{containerStatuses: [{state: {running: {}}}]}"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var pod corev1.Pod
			if err := yaml.Unmarshal([]byte("{metadata: {name: p}, status: "+row.status+"}"), &pod); err != nil {
				t.Fatal(err)
			}
			if got := kube.PodTrouble(&pod); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

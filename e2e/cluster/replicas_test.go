//go:build e2e

package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestTwoControllersDoNothingTwice has the leader of two stand still until the other has taken over, and go on beside
// it; then the leader is killed. A run is queued, started and released meanwhile.
func TestTwoControllersDoNothingTwice(t *testing.T) {
	l := newLab(t, alone)
	l.scaleController(2)
	t.Cleanup(l.oneController)
	l.replicas(2)
	run := l.submit(l.write("paused.yaml", experiment(fourOfEight, "20s", "")))[0]
	waiting := l.submit(l.write("waiting.yaml", experiment(allEight, "2s", "")))[0]
	l.waitForTask(run, "provision")

	first := l.leader("")
	second := l.pauseLeader(first)
	l.waitForTask(run, "load-gen-0")
	if err := l.api.Resource(pods).Namespace(ourController.namespace).Delete(t.Context(), second,
		metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	for _, r := range []string{run, waiting} {
		l.succeeded(r)
		l.ranOnce(r)
		l.nothingLeft(r, beforeForce)
		l.released(r)
	}
}

// oneController takes all controllers but one away, and waits until that one leads: whoever comes next finds no change
// of leaders.
func (l *lab) oneController() {
	l.t.Helper()
	l.scaleController(1)
	l.await(2*time.Minute, "one controller to be left and to lead", func() string {
		left, err := l.listIn(pods, ourController.namespace, ourController.selector)
		if err != nil || len(left) != 1 {
			return fmt.Sprintf("%d are there: %v", len(left), err)
		}
		lease, err := l.getIn(leases, ourController.namespace, "bflow-controller")
		if err != nil {
			return err.Error()
		}
		holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
		if pod, _, _ := strings.Cut(holder, "_"); pod != left[0].GetName() {
			return "the Lease is held by " + holder
		}
		return ""
	})
}

// pauseLeader stops the leader until another one has taken over, and returns that one. A lease is 6 s long, but on a
// busy host the other one may be too slow to notice a short pause.
func (l *lab) pauseLeader(leader string) (next string) {
	l.t.Helper()
	for _, seconds := range []string{"15", "30", "60"} {
		l.fault("stop", "bflow-controller", seconds, leader)
		if l.holder() != leader {
			break
		}
		l.t.Logf("%s leads again after a pause of %s s", leader, seconds)
	}
	return l.leader(leader)
}

// holder is the pod that holds the Lease of the controllers, "" where none does.
func (l *lab) holder() (pod string) {
	l.t.Helper()
	lease, err := l.getIn(leases, ourController.namespace, "bflow-controller")
	if err != nil {
		l.t.Fatal(err)
	}
	identity, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	pod, _, _ = strings.Cut(identity, "_")
	return pod
}

// leader is the pod that holds the Lease of the controllers, and another one than old.
func (l *lab) leader(old string) (pod string) {
	l.t.Helper()
	return l.leaderWithin(2*time.Minute, old)
}

// leaderWithin waits until the holder is seen to renew: its clock may be another one than that of the tests.
func (l *lab) leaderWithin(limit time.Duration, old string) (pod string) {
	l.t.Helper()
	first := ""
	l.await(limit, "a leader other than "+old, func() string {
		lease, err := l.getIn(leases, ourController.namespace, "bflow-controller")
		if err != nil {
			return err.Error()
		}
		holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
		renewed, _, _ := unstructured.NestedString(lease.Object, "spec", "renewTime")
		pod, _, _ = strings.Cut(holder, "_")
		if first == "" {
			first = renewed
		}
		if pod == "" || pod == old || renewed == first {
			return "it is held by " + holder + ", renewed " + renewed
		}
		return ""
	})
	return pod
}

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
	l.controllers().scale(2)
	t.Cleanup(l.controllers().keepOne)
	l.controllers().replicas(2)
	run := l.submit(l.write("paused.yaml", experiment(fourOfEight, "20s", "")))[0]
	waiting := l.submit(l.write("waiting.yaml", experiment(allEight, "2s", "")))[0]
	l.of(run).waitForTask("provision")

	first := l.controllers().leader("")
	second := l.controllers().pauseLeader(first)
	l.of(run).waitForTask("load-gen-0")
	if err := l.api.Resource(pods).Namespace(ourController.namespace).Delete(t.Context(), second,
		metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	for _, r := range []string{run, waiting} {
		l.of(r).succeeded()
		l.of(r).ranOnce()
		l.of(r).nothingLeft(beforeForce)
		l.of(r).released()
	}
}

// keepOne takes all controllers but one away, and waits until that one leads: whoever comes next finds no change
// of leaders.
func (cs controllers) keepOne() {
	cs.l.t.Helper()
	cs.scale(1)
	cs.l.await(2*time.Minute, "one controller to be left and to lead", func() string {
		left, err := cs.l.listIn(pods, ourController.namespace, ourController.selector)
		if err != nil || len(left) != 1 {
			return fmt.Sprintf("%d are there: %v", len(left), err)
		}
		lease, err := cs.l.getIn(leases, ourController.namespace, "bflow-controller")
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
func (cs controllers) pauseLeader(leader string) (next string) {
	cs.l.t.Helper()
	for _, seconds := range []string{"15", "30", "60"} {
		cs.l.fault("stop", "bflow-controller", seconds, leader)
		if cs.holder() != leader {
			break
		}
		cs.l.t.Logf("%s leads again after a pause of %s s", leader, seconds)
	}
	return cs.leader(leader)
}

// holder is the pod that holds the Lease of the controllers, "" where none does.
func (cs controllers) holder() (pod string) {
	cs.l.t.Helper()
	lease, err := cs.l.getIn(leases, ourController.namespace, "bflow-controller")
	if err != nil {
		cs.l.t.Fatal(err)
	}
	identity, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	pod, _, _ = strings.Cut(identity, "_")
	return pod
}

// leader is the pod that holds the Lease of the controllers, and another one than old.
func (cs controllers) leader(old string) (pod string) {
	cs.l.t.Helper()
	return cs.leaderWithin(2*time.Minute, old)
}

// leaderWithin waits until the holder is seen to renew: its clock may be another one than that of the tests.
func (cs controllers) leaderWithin(limit time.Duration, old string) (pod string) {
	cs.l.t.Helper()
	first := ""
	cs.l.await(limit, "a leader other than "+old, func() string {
		lease, err := cs.l.getIn(leases, ourController.namespace, "bflow-controller")
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

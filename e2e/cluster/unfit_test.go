//go:build e2e

package cluster

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestARunThatIsTooBigLetsOthersPass asks for twice what the node has, and then for half of it.
func TestARunThatIsTooBigLetsOthersPass(t *testing.T) {
	l := newLab(t)
	big := l.submit(l.write("big.yaml", strings.Replace(fourGPUs, `"4"`, `"16"`, 1)))[0]
	small := l.submit(l.write("four.yaml", fourGPUs))[0]
	l.awaitAnswer(10*time.Minute, big+" to be set aside", func() string {
		if said := l.must("status", big); !strings.Contains(said, "Set aside") ||
			!strings.Contains(said, "asks for 16 nvidia.com/gpu") {
			return said
		}
		return ""
	})
	l.await(40*time.Minute, small+" to end", func() string {
		status, reason := condition(l.run(small))
		if status == "True" {
			return ""
		}
		return "it is " + reason
	})
	l.must("cancel", big)
	for _, run := range []string{big, small} {
		l.of(run).nothingLeft(beforeForce)
	}
}

// TestALoadThatFindsNoNodeGivesTheGPUsBack asks for a load generator of 500 cores.
func TestALoadThatFindsNoNodeGivesTheGPUsBack(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes as long as a task may look for a node")
	}
	l := newLab(t)
	run := l.submit(l.write("four.yaml", strings.Replace(fourGPUs, "duration: 2s", "duration: 1h", 1)),
		"--load-cpu", "500")[0]
	l.awaitAnswer(10*time.Minute, run+" to say what is missing", func() string {
		if said := l.must("status", run); !strings.Contains(said, "Insufficient cpu") {
			return said
		}
		return ""
	})
	l.await(40*time.Minute, run+" to be ended", func() string {
		status, reason := condition(l.run(run))
		if status == string(metav1.ConditionFalse) {
			return ""
		}
		return "it is " + reason
	})
	if said := l.bflow("status", run).out; !strings.Contains(said,
		`bflow-controller ended it: task "load-gen-0" had no place for 5m0s`) {
		t.Error(said)
	}
	l.of(run).nothingLeft(beforeForce)
}

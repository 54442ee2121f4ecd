//go:build e2e

package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/runplan/contract"
)

// fourGPUs is an experiment whose engine holds four of the eight GPUs of the node for a few seconds.
const fourGPUs = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: four}
spec:
  namespace: benchflow
  model: {name: demo/tiny}
  deployment_profile: sim
  stages: {collect: false}
  overrides: {runtime: {resources: {limits: {nvidia.com/gpu: "4"}}}}
  load: {data: {input: 16, output: 4}, stages: [{rate: 20, duration: 2s}]}
`

// TestRunsWaitForGPUs puts 20 runs of 4 GPUs on a node that has 8; in short tests 8 runs.
func TestRunsWaitForGPUs(t *testing.T) {
	l := newLab(t, alone)
	file := l.write("four.yaml", fourGPUs)
	since := metav1.Now()
	most := l.quota().sampleGPUs()
	var runs []string
	many := 20
	if testing.Short() {
		many = 8
	}
	for range many {
		runs = append(runs, l.submit(file)...)
	}
	l.awaitAnswer(10*time.Minute, "the last run to say how long the queue is", func() string {
		if said := l.must("status", runs[len(runs)-1]); !strings.Contains(said, "Place ") &&
			!strings.Contains(said, "before it in queue") {
			return said
		}
		return ""
	})
	for _, run := range runs {
		l.await(40*time.Minute, run+" to end", func() string {
			status, reason := condition(l.run(run))
			if status == "False" {
				t.Fatalf("%s failed: %s\n%s", run, reason, l.bflow("status", run).out)
			}
			if status == "True" {
				return ""
			}
			return "it is " + reason
		})
	}
	if n := most(); n > 8 || n < 4 {
		t.Errorf("at most %d GPUs were asked for at once; the node has 8, a run takes 4", n)
	}
	l.quota().inOrder(runs)
	l.quota().noneUnschedulable(since)
	for _, run := range runs {
		l.of(run).nothingLeft(beforeForce)
	}
}

// inOrder checks that runs were let start in the order in which they were made.
func (q quota) inOrder(runs []string) {
	q.l.t.Helper()
	var admitted []string
	for _, run := range runs {
		at := q.l.run(run).GetAnnotations()[contract.AnnotationAdmitted]
		if at == "" {
			q.l.t.Errorf("%s does not say when it was let start", run)
		}
		admitted = append(admitted, at)
	}
	if !slices.IsSorted(admitted) {
		q.l.t.Errorf("runs were let start in another order than they were made:\n%s", strings.Join(admitted, "\n"))
	}
}

func (q quota) noneUnschedulable(since metav1.Time) {
	q.l.t.Helper()
	for _, e := range q.l.list(events, "") {
		last, _, _ := unstructured.NestedString(e.Object, "lastTimestamp")
		if at, err := time.Parse(time.RFC3339, last); err != nil || at.Before(since.Time) {
			continue
		}
		if reason, _, _ := unstructured.NestedString(e.Object, "reason"); reason == "FailedScheduling" {
			message, _, _ := unstructured.NestedString(e.Object, "message")
			q.l.t.Errorf("%s: %s", e.GetName(), fmt.Sprint(message))
		}
	}
}

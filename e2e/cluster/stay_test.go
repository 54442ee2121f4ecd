//go:build e2e

package cluster

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/runplan/contract"
)

// TestAServerStaysAfterItsRun with the GPUs that it holds, until somebody ends that or its time is over.
func TestAServerStaysAfterItsRun(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, keep string
		more       []string // flags
		end        func(l *lab, run string)
		deleted    bool // the PipelineRun is gone in the end
	}{
		{name: "until it is deleted", keep: "1h", more: []string{"--set", "stages.benchmark=false"},
			end: func(l *lab, run string) { l.must("delete", "--yes", run) }, deleted: true},
		{name: "until it is cancelled", keep: "1h", end: func(l *lab, run string) { l.must("cancel", run) }},
		{name: "until its time is over", keep: "20s"},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLab(t)
			file := l.write("stay.yaml", experiment(oneOfEight, "1s", ""))
			run := l.submit(file, append(row.more, "--keep-for", row.keep, "--follow")...)[0]
			if row.end != nil {
				l.await(2*time.Minute, "the controller to say that the server stays", func() string {
					reason := l.run(run).GetAnnotations()[contract.AnnotationReason]
					if !strings.HasPrefix(reason, "Ended; its model server stays until ") {
						return reason + " "
					}
					return ""
				})
				servers := l.of(run).objects(deployments)
				if len(servers) != 1 || ready(&servers[0]) != 1 || len(l.of(run).holding()) != 1 {
					t.Errorf("the run has %d servers, and %d Workloads with quota", len(servers), len(l.of(run).holding()))
				}
				said := l.must("status", run)
				if !strings.Contains(said, "its model server stays at http://") || !strings.Contains(said, "stays until 20") {
					t.Errorf("bflow status says\n%s", said)
				}
				row.end(l, run)
			}
			l.of(run).nothingLeft(beforeForce)
			if row.deleted {
				l.of(run).gone()
			} else {
				l.of(run).released()
			}
		})
	}
}

// ready is how many pods of a Deployment can be asked.
func ready(deployment *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(deployment.Object, "status", "readyReplicas")
	return n
}

//go:build e2e

package cluster

import (
	"os"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/runplan/contract"
)

// TestWhatIsCompiledIsAppliedAgain walks the lines of docs/start.md twice: what runs share is there already, by bflow
// run or by the first time, and each creation is another run of the same plan.
func TestWhatIsCompiledIsAppliedAgain(t *testing.T) {
	l := newLab(t, runs(3))
	file := l.write("brief.yaml", brief)
	options := []string{file, "--set", untilCancelled, "--lock", os.Getenv("BFLOW_E2E_LOCK"), "--load-cpu", "200m"}
	made := strings.Fields(l.must(append([]string{"run"}, options...)...))
	l.must(append([]string{"compile", "--out", "out"}, options...)...)
	for range 2 {
		l.admin("apply", "--server-side", "-f", "out/shared")
		name := strings.TrimSpace(l.admin("create", "-f", "out/runs", "-o", "name"))
		made = append(made, strings.TrimPrefix(name, "pipelinerun.tekton.dev/"))
	}
	hashes := map[string]bool{}
	for _, run := range made {
		hashes[l.run(run).GetLabels()[contract.LabelPlanHash]] = true
		l.must("cancel", run)
	}
	if len(made) != 3 || len(hashes) != 1 {
		t.Errorf("runs %q have plans %v, want three runs of one plan", made, hashes)
	}
	for _, run := range made {
		l.of(run).waitForEnd(20 * time.Minute)
		l.of(run).nothingLeft(beforeForce)
	}
}

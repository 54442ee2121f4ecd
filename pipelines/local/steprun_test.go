package local

import (
	"testing"

	"bflow.dev/bflow/runplan/contract"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

func TestAStepThatFallsSaysHow(t *testing.T) {
	for _, row := range []struct {
		name          string
		code          int
		starved       bool
		reason, words string
	}{
		{"it failed", 1, false, v1.TaskRunReasonStepFailed.String(), ""},
		{"it failed while the kernel killed another", 1, true, v1.TaskRunReasonStepFailed.String(), ""},
		{"it was told to end", 143, false, v1.TaskRunReasonStepFailed.String(), ""},
		{"it was killed", 137, false, contract.ReasonStepKilled, ": it was killed, by somebody or because memory ran out"},
		{"the kernel killed it", 137, true, v1.TaskRunReasonStepOOM.String(), ": it was killed: out of memory"},
	} {
		if reason, words := exitReason(row.code, row.starved); reason != row.reason || words != row.words {
			t.Errorf("%s: %q, %q; want %q, %q", row.name, reason, words, row.reason, row.words)
		}
	}
	if got := v1.TaskRunReasonPodEvicted.String(); got != contract.ReasonPodEvicted {
		t.Errorf("Tekton calls it %q", got)
	}
}

package local

import (
	"path/filepath"
	"testing"

	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// TestThePageOfAMatrixLiesAmongItsRuns: a journal that somebody else wrote may name it as he likes.
func TestThePageOfAMatrixLiesAmongItsRuns(t *testing.T) {
	root := t.TempDir()
	if got, err := pageIn(root, "ladder-20261127-101500-abcde"); err != nil ||
		got != filepath.Join(root, "ladder-20261127-101500-abcde.html") {
		t.Errorf("got %q, %v", got, err)
	}
	for _, name := range []string{"../x", "../../etc/x", "/etc/x", "a/b", "a/../../x", ".."} {
		got, err := pageIn(root, name)
		if err != nil && step.Code(err) == contract.ExitUsage {
			continue
		}
		if filepath.Dir(got) != root {
			t.Errorf("matrix %q: its page is %q, %v", name, got, err)
		}
	}
}

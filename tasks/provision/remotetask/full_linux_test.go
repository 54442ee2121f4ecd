package remotetask

import (
	"context"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// TestAVolumeThatIsFull is one of a few hundred kilobytes.
func TestAVolumeThatIsFull(t *testing.T) {
	g := newTarget(t, func(_ context.Context, dir string, _ func(string)) int {
		rng, rows := rand.NewChaCha8([32]byte{1}), make([]byte, 1<<20)
		rng.Read(rows)
		put(dir, "measurements/0/loadgen.json", `{"complete":true}`)
		put(dir, "measurements/0/requests.jsonl.gz", string(rows))
		return 0
	})
	volume := t.TempDir()
	if err := syscall.Mount("tmpfs", volume, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("mounting a small volume needs more rights: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(volume, 0); err != nil {
			t.Error(err)
		}
	})
	h := newHub(t, g)
	plan := h.file(contract.FilePlan)
	h.dir = volume
	put(h.dir, contract.FilePlan, plan)
	err := h.exec(contract.LoadGen)
	if step.Code(err) != contract.ExitFail || !strings.Contains(err.Error(),
		"the volume of the run directory is full, and the results of load-gen do not fit") {
		t.Errorf("got %v", err)
	}
	h.clean()
}

package kill

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"bflow.dev/bflow/e2e/product"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan/contract"
)

// TestAMeasurementThatIsDamagedIsMadeAgain: the run was killed in its second measurement, so no report vouches for the
// first one.
func TestAMeasurementThatIsDamagedIsMadeAgain(t *testing.T) {
	t.Parallel()
	p := product.New(t)
	p.Write("kill.yaml", strings.NewReplacer("on_invalid: mark", "on_invalid: mark, share_deployment: true",
		"  load:\n", "  matrix: {axes: {\"load.stages[0].concurrency\": [2, 4]}}\n  load:\n", "duration: 3s",
		"duration: 1s").Replace(experiment))
	cmd := p.Start("run", "--local", "--plain", "kill.yaml")
	run := p.AwaitLoad(20)
	eventually.Nil(t, "the second measurement", func() error {
		_, err := os.Stat(run.Path("measurements/1/" + contract.FileLoadGen))
		return err
	})
	cmd.Signal(syscall.SIGKILL)
	cmd.Wait()
	run.AwaitNoProcess()
	rows := run.Measurement(contract.FileRequests)
	data, err := os.ReadFile(rows)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(rows, data, 0o644); err != nil {
		t.Fatal(err)
	}
	got := p.Run("resume", "--plain", run.ID())
	says := ` is repeated: "measurements/0/requests.jsonl.gz" does not hold what it held when its measurement ended`
	if got.Code != contract.ExitPass || !strings.Contains(got.Err, says) || strings.Contains(got.Err, "measurement 1 ") {
		t.Errorf("resume: exit code %d:\n%s\n%s", got.Code, got.Out, got.Err)
	}
	if h, rows := run.Rows(); h.Attempt != 2 || len(rows) == 0 {
		t.Errorf("%d rows of attempt %d", len(rows), h.Attempt)
	}
	if kept, err := os.ReadFile(run.Measurement("attempt-1/" + contract.FileRequests)); err != nil ||
		string(kept) != string(data) {
		t.Errorf("%d bytes of what was damaged are kept, want %d: %v", len(kept), len(data), err)
	}
	for _, m := range run.Report().Measurements {
		if !m.Complete {
			t.Errorf("measurement %d: %s", m.Index, m.Error)
		}
	}
}

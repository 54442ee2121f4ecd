package step

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// KeepPlan writes plan into the run directory where none is there yet: whoever finds the directory finds what was run,
// however early the run ended.
func KeepPlan(runDir string, plan *runplan.RunPlan) error {
	path := filepath.Join(runDir, contract.FilePlan)
	switch _, err := os.Stat(path); {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("keeping the plan of the run: %w", err)
	}
	data, err := runplan.Marshal(plan)
	if err != nil {
		return err
	}
	return durable.WriteFile(path, data)
}

package report

import (
	"path/filepath"
	"strconv"

	"bflow.dev/bflow/runplan/contract"
)

// MeasurementDir returns the folder of measurement n, from 0, below the run directory.
func MeasurementDir(runDir string, n int) string {
	return filepath.Join(runDir, contract.DirMeasurement, strconv.Itoa(n))
}

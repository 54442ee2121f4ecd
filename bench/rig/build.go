package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Binaries are the programs of a measurement.
type Binaries struct{ Engine, LoadGen, Floor string }

// Build compiles the programs into dir as they are shipped: static, stripped, without cgo. It needs the go command and
// runs in the module.
func Build(ctx context.Context, dir string) (Binaries, error) {
	b := Binaries{
		Engine: filepath.Join(dir, "sim-engine"), LoadGen: filepath.Join(dir, "load-gen"),
		Floor: filepath.Join(dir, "floor"),
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return b, fmt.Errorf("making the folder of the programs: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+"/",
		"bflow.dev/bflow/cmd/sim-engine", "bflow.dev/bflow/cmd/load-gen", "bflow.dev/bflow/bench/floor")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return b, fmt.Errorf("building the programs: %w\n%s", err, out)
	}
	return b, nil
}

package images

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/tasks/contract"
)

// TestEveryProgramStarts builds the program of each image and asks it for help: it says its name. Tests on clusters alone
// start some of them.
func TestEveryProgramStarts(t *testing.T) {
	dir := t.TempDir()
	for _, b := range Binaries() {
		t.Run(b.Name, func(t *testing.T) {
			program := filepath.Join(dir, b.Name)
			build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, "./"+b.Name)
			build.Dir = "../cmd"
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("building it: %v\n%s", err, out)
			}
			out, err := exec.CommandContext(t.Context(), program, "-h").CombinedOutput()
			// A program of subcommands calls the want of one an error.
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() == contract.ExitUsage {
				err = nil
			}
			if said := strings.TrimPrefix(string(out), "Usage of "); err != nil || !strings.HasPrefix(said, b.Name+":") {
				t.Errorf("%v, said %q", err, out)
			}
		})
	}
}

package images

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan/contract"
)

// TestEveryProgramStarts builds the program of each image as for an image and asks it for help: it says its name. Only
// cluster tests start some of them.
func TestEveryProgramStarts(t *testing.T) {
	folders, err := os.ReadDir("../cmd")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range folders {
		names = append(names, f.Name())
	}
	if !slices.EqualFunc(names, Binaries(), func(name string, b Binary) bool { return name == b.Name }) {
		t.Errorf("programs %q, images %v", names, Binaries())
	}
	dir := t.TempDir()
	if err := goBuild(t.Context(), Options{Source: "..", Version: "v0.0.0"}, runtime.GOOS+"/"+runtime.GOARCH,
		names, dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), filepath.Join(dir, name), "-h").CombinedOutput()
			// To a program with subcommands -h is an unknown one, which is a usage error.
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() == contract.ExitUsage {
				err = nil
			}
			if said := strings.TrimPrefix(string(out), "Usage of "); err != nil || !strings.HasPrefix(said, name+":") {
				t.Errorf("%v, said %q", err, out)
			}
		})
	}
}

package kill

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bflow.dev/bflow/e2e/product"
	"bflow.dev/bflow/runplan/contract"
)

func TestAFullDiskIsSaidOnce(t *testing.T) {
	t.Parallel()
	p := product.New(t)
	if err := os.MkdirAll(p.Runs, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", p.Runs, "tmpfs", 0, "size=4m"); err != nil {
		if os.Getenv("BFLOW_REQUIRE_MOUNT") == "1" {
			t.Fatalf("a disk to fill cannot be mounted, and BFLOW_REQUIRE_MOUNT=1 asks for one: %v", err)
		}
		t.Skipf("a disk to fill cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(p.Runs, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	earlier := filepath.Join(p.Runs, "earlier", contract.FileReport)
	if err := os.MkdirAll(filepath.Dir(earlier), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(earlier, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd, run := beginLoad(t, p)
	fill(filepath.Join(p.Runs, "filler"))
	got := cmd.Wait()
	if got.Code == contract.ExitPass || !strings.Contains(got.Err, "no space left on device") ||
		strings.Contains(got.Err, "goroutine ") {
		t.Errorf("exit code %d:\n%s\n%s", got.Code, got.Out, got.Err)
	}
	if left := run.Processes(); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
	if kept, err := os.ReadFile(earlier); err != nil || string(kept) != "kept" {
		t.Errorf("the earlier run holds %q, %v", kept, err)
	}
}

// fill writes until nothing more fits.
func fill(path string) {
	f, err := os.Create(path)
	if err != nil {
		return
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
}

func TestAFolderThatCannotBeWrittenIsNamed(t *testing.T) {
	t.Parallel()
	p := product.New(t)
	p.Write("kill.yaml", experiment)
	p.Write("file", "")
	p.Runs = filepath.Join(p.Dir, "file", "runs") // also root cannot make a folder in a file
	got := p.Run("run", "--local", "--plain", "kill.yaml")
	if got.Code != contract.ExitFail || !strings.Contains(got.Err, p.Runs) || strings.Count(got.Err, "\n") > 3 {
		t.Errorf("exit code %d:\n%s", got.Code, got.Err)
	}
}

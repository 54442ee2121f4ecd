package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"bflow.dev/bflow/runplan/contract"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// substitute is the program of this host that stands in for the first word of a step's command.
type substitute struct {
	kind string // sibling, self or host
	argv []string
}

// ours returns the binary of ours that a step names, or false.
func ours(s *v1.Step) (string, bool) {
	if len(s.Command) == 0 {
		return "", false
	}
	name, ok := strings.CutPrefix(s.Command[0], "/")
	return name, ok && slices.Contains(contract.Binaries(), name)
}

// program finds what runs s: the sibling binary, else this very one, or a program or script of the host for an allowed
// image. A script is written into r.
func (o Options) program(s *v1.Step, r room) (substitute, error) {
	if name, ok := ours(s); ok {
		if path := filepath.Join(o.BinDir, name); o.BinDir != "" && executable(path) {
			return substitute{"sibling", []string{path}}, nil
		}
		if o.Self == "" {
			return substitute{}, fmt.Errorf("program %q is not in %q; build it there", name, o.BinDir)
		}
		return substitute{"self", []string{o.Self, "step", name}}, nil
	}
	root, ok := o.HostImages[s.Image]
	switch {
	case !ok:
		return substitute{}, fmt.Errorf("image %q is not ours", s.Image)
	case s.Script != "":
		path := filepath.Join(r.step(s.Name), "script")
		return substitute{"host", []string{path}}, writeScript(path, s.Script)
	}
	if filepath.IsAbs(s.Command[0]) {
		return substitute{"host", []string{filepath.Join(root, s.Command[0])}}, nil
	}
	path, err := exec.LookPath(s.Command[0])
	if err != nil {
		return substitute{}, fmt.Errorf("finding program of image %q: %w", s.Image, err)
	}
	return substitute{"host", []string{path}}, nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// writeScript writes a script as Tekton does: one that names no interpreter runs in a shell that stops at an error.
func writeScript(path, script string) error {
	if !strings.HasPrefix(script, "#!") {
		script = "#!/bin/sh\nset -e\n" + script
	}
	// A process forked meanwhile would hold the file open for writing until its exec, and no such file can be executed.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		return fmt.Errorf("writing script: %w", err)
	}
	return nil
}

package external

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/load/tool/registry"
)

// EnvVenv names a virtual environment for every tool; BFLOW_<TOOL>_VENV, such as BFLOW_INFERENCE_PERF_VENV, names one
// for a single tool.
const EnvVenv = "BFLOW_VENV"

// venvVariable is the variable that names the environment of one tool.
func venvVariable(tool string) string {
	return "BFLOW_" + strings.ToUpper(strings.ReplaceAll(tool, "-", "_")) + "_VENV"
}

// Find returns the absolute path of the tool: in the virtual environment that the measurement names, else in one that
// the environment names, else on PATH. Its error says how to install it.
func Find(tool, venv string, env func(string) string) (string, error) {
	own, err := runnable(registry.All(), tool)
	if err != nil {
		return "", err
	}
	program := own.External().Program()
	name, requirement := program.Name, program.Requirement
	for _, from := range []string{venv, env(venvVariable(tool)), env(EnvVenv)} {
		if from == "" {
			continue
		}
		path, err := filepath.Abs(filepath.Join(from, "bin", name))
		if err != nil {
			return "", fmt.Errorf("finding %s: %w", name, err)
		}
		if _, err := exec.LookPath(path); err != nil {
			return "", fmt.Errorf("finding %s: %w; install it there: %s install %s", name, reason(err),
				filepath.Join(from, "bin", "pip"), requirement)
		}
		return path, nil
	}
	for _, dir := range filepath.SplitList(env("PATH")) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "",
		fmt.Errorf(
			"finding %s: it is not on PATH; install it (python3 -m venv DIR && DIR/bin/pip install %s) and name the folder "+
				"by tool_venv or %s",
			name, requirement, venvVariable(tool))
}

// reason shortens the error of a program that is not there.
func reason(err error) error {
	var e *exec.Error
	if errors.As(err, &e) {
		return fmt.Errorf("%s: %w", e.Name, e.Err)
	}
	var p *fs.PathError
	if errors.As(err, &p) && errors.Is(p.Err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not there", p.Path)
	}
	return err
}

// isProgram reports whether path can be run.
func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

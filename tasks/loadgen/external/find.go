package external

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/load"
)

// EnvVenv names a virtual environment for every tool; BFLOW_GUIDELLM_VENV, BFLOW_INFERENCE_PERF_VENV, BFLOW_AIPERF_VENV
// and BFLOW_VLLM_BENCH_VENV name one for a single tool.
const EnvVenv = "BFLOW_VENV"

// venvVariable is the variable that names the environment of one tool.
func venvVariable(tool string) string {
	return "BFLOW_" + strings.ToUpper(strings.ReplaceAll(tool, "-", "_")) + "_VENV"
}

// program is the command of a tool, requirement what pip installs it by. Blocks are written in the words of these
// versions.
func program(tool string) (name, requirement string) {
	switch tool {
	case load.VLLMBench:
		return "vllm", "vllm"
	case load.GuideLLM:
		return tool, "guidellm==0.8.1"
	case load.InferencePerf:
		return tool, "inference-perf==0.7.0"
	case load.AIPerf:
		return tool, "aiperf==0.13.0"
	}
	return tool, tool
}

// Find returns the absolute path of the tool: in the virtual environment that the measurement names, else in one that
// the environment names, else on PATH. Its error says how to install it.
func Find(tool, venv string, env func(string) string) (string, error) {
	name, requirement := program(tool)
	for _, from := range []string{venv, env(venvVariable(tool)), env(EnvVenv)} {
		if from == "" {
			continue
		}
		path, err := filepath.Abs(filepath.Join(from, "bin", name))
		if err != nil {
			return "", fmt.Errorf("finding %s: %w", name, err)
		}
		if _, err := exec.LookPath(path); err != nil {
			return "", fmt.Errorf("finding %s: %w; install it there: %s install %s", name, reason(err), filepath.Join(from, "bin", "pip"), requirement)
		}
		return path, nil
	}
	for _, dir := range filepath.SplitList(env("PATH")) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("finding %s: it is not on PATH; install it (python3 -m venv DIR && DIR/bin/pip install %s) and name the folder by tool_venv or %s",
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

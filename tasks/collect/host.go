package collect

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// thisHost describes the machine of the task. What the kernel does not say is absent; its name is left out on purpose.
func thisHost() *report.Host {
	h := &report.Host{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0), GoVersion: runtime.Version(),
		CPUModel: procField("/proc/cpuinfo", "model name")}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		h.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	kib, err := strconv.ParseInt(strings.TrimSuffix(procField("/proc/meminfo", "MemTotal"), " kB"), 10, 64)
	if err == nil {
		h.MemoryBytes = kib << 10
	}
	return h
}

// procField returns the first value of key in a file of "key : value" lines, "" where there is none.
func procField(path, key string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// colocated says whether the engine runs, or ran, on node, which is that of the task. Tasks that share the volume of a
// run share a node, so it is that of the load as well; "" is a host, which is no news.
func colocated(runDir, node string) (bool, error) {
	var end struct {
		Nodes []string `json:"nodes"`
	}
	err := step.ReadJSON(filepath.Join(runDir, contract.FileEndpoint), &end)
	if node == "" || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return slices.Contains(end.Nodes, node), err
}

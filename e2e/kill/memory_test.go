package kill

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bflow.dev/bflow/e2e/product"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan/contract"
)

// TestALoadGeneratorThatMemoryRunsOutForIsReported lets the kernel kill the load generator: all of the run lies in a
// control group of 512 MiB, a stranger in it takes what is left, and the load generator is what the kernel likes to
// kill.
func TestALoadGeneratorThatMemoryRunsOutForIsReported(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 512<<20)
	p := product.New(t)
	p.Write("kill.yaml", experiment)
	cmd := p.Start("run", "--local", "--plain", "kill.yaml")
	g.add(cmd.PID())
	run := p.AwaitLoad(20)
	stall(t, run)
	write(t, fmt.Sprintf("/proc/%d/oom_score_adj", run.PID(contract.LoadGen)), 1000)
	g.fill()
	got := cmd.Wait()
	if got.Code != contract.ExitFail || !strings.Contains(got.Err, "it was killed: out of memory") ||
		strings.Contains(got.Err, "goroutine ") {
		t.Errorf("exit code %d:\n%s\n%s", got.Code, got.Out, got.Err)
	}
	checkPartial(t, run, `load-gen was killed: out of memory (limit 512Mi) in stage "load" after `)
	if left := run.Processes(); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
}

// group is a control group of this test.
type group struct {
	t   *testing.T
	dir string
}

// newGroup makes a control group inside that of this process, which takes root.
func newGroup(t *testing.T, limit int) group {
	t.Helper()
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skipf("no control groups: %v", err)
	}
	root, file := "/sys/fs/cgroup", "memory.max"
	own, unified := controlGroup(string(text))
	if !unified {
		root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	}
	g := group{t, filepath.Join(root, own, fmt.Sprintf("bflow-test-%d", os.Getpid()))}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		t.Skipf("no control group can be made: %v", err)
	}
	t.Cleanup(func() {
		eventually.Nil(t, "the end of the control group", func() error { return os.Remove(g.dir) })
	})
	if err := os.WriteFile(filepath.Join(g.dir, file), []byte(strconv.Itoa(limit)), 0o644); err != nil {
		t.Skipf("control groups cannot be limited here: %v", err)
	}
	return g
}

// controlGroup is the group for memory of a process, and whether that is one of the unified hierarchy.
func controlGroup(text string) (path string, unified bool) {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if parts[1] == "memory" {
			return parts[2], false
		}
		if parts[1] == "" {
			path = parts[2]
		}
	}
	return path, true
}

func (g group) add(pid int) {
	g.t.Helper()
	write(g.t, filepath.Join(g.dir, "cgroup.procs"), pid)
}

// fill takes more memory than the group may have. What does it is killed as well, but after the load generator, whose
// badness is that of all memory of the group.
func (g group) fill() {
	g.t.Helper()
	hog := exec.Command("sh", "-c", `echo -500 2>/dev/null > /proc/self/oom_score_adj; echo $$ > "$0"; head -c 1G `+
		`/dev/zero | tail > /dev/null`, filepath.Join(g.dir, "cgroup.procs"))
	if err := hog.Start(); err != nil {
		g.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = hog.Wait() // it is killed
	}()
	g.t.Cleanup(func() {
		_ = hog.Process.Kill() // unless it has ended
		eventually.Receive(g.t, "the end of the process that takes memory", ended)
	})
}

func write(t *testing.T, path string, number int) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strconv.Itoa(number)), 0o644); err != nil {
		t.Fatal(err)
	}
}

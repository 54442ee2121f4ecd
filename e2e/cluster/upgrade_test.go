//go:build e2e

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAnUpgradeDisturbsNoRun puts another build on the hub and takes it away again, with a run under load and one that
// waits for its GPUs. Somebody has scaled the controller meanwhile, which stays as they want it.
func TestAnUpgradeDisturbsNoRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds every image anew")
	}
	l := newLab(t, alone)
	bin, lock := buildAnother(l, "e2e-upgrade")
	running := l.submit(l.write("running.yaml", experiment(fourOfEight, "60s", "")))[0]
	during("load-gen-0")(l, running)
	waiting := l.submit(l.write("waiting.yaml", experiment(allEight, "2s", "")))[0]
	l.awaitAnswer(10*time.Minute, "a reason to wait", func() string {
		if out := l.bflow("status", waiting).out; !strings.Contains(out, "Next in queue") {
			return out
		}
		return ""
	})

	before := l.controllers().image()
	l.controllers().scale(2)
	t.Cleanup(l.controllers().keepOne)
	l.controllers().upgrade(filepath.Join(bin, "bflow"), lock)
	if now := l.controllers().image(); now == before {
		t.Fatalf("the controller is still %s", now)
	}
	l.controllers().replicas(2)
	l.of(running).succeeded()
	l.of(running).ranOnce()
	l.of(waiting).succeeded()
	l.of(waiting).ranOnce()
	l.controllers().upgrade(bflowPath(), os.Getenv("BFLOW_E2E_LOCK"))
	l.controllers().replicas(2)
	if now := l.controllers().image(); now != before {
		t.Errorf("the way back leads to %s, not to %s", now, before)
	}
	for _, run := range []string{running, waiting} {
		l.of(run).nothingLeft(beforeForce)
	}
}

// upgrade has a build of bflow take the hub over.
func (cs controllers) upgrade(bflow, lock string) {
	cs.l.t.Helper()
	args := append([]string{"bootstrap", "upgrade", "--lock", lock}, strings.Fields(os.Getenv("E2E_BOOTSTRAP_FLAGS"))...)
	if r := cs.l.command(10*time.Minute, bflow, args...); r.code != 0 {
		cs.l.t.Fatalf("upgrading: exit %d\n%s%s", r.code, r.out, r.err)
	}
}

// buildAnother makes the programs of this checkout under another version, and pushes their images.
func buildAnother(l *lab, version string) (bin, lock string) {
	l.t.Helper()
	bin, lock = filepath.Join(l.dir, "bin"), filepath.Join(l.dir, "other.lock.yaml")
	checkout, err := filepath.Abs("../..")
	if err != nil {
		l.t.Fatal(err)
	}
	out := filepath.Join(l.dir, "images")
	for _, words := range [][]string{
		{"make", "-C", checkout, "build", "VERSION=" + version, "BIN=" + bin},
		{filepath.Join(bin, "bflow"), "images", "build", "--source", checkout, "--platform",
			"linux/" + runtime.GOARCH, "--out", out},
		{filepath.Join(bin, "bflow"), "images", "push", "--from", out, "--platform", "linux/" + runtime.GOARCH,
			"--prefix", os.Getenv("E2E_REGISTRY"), "--lock", lock},
	} {
		if r := l.command(15*time.Minute, words[0], words[1:]...); r.code != 0 {
			l.t.Fatalf("%q: exit %d\n%s%s", words, r.code, r.out, r.err)
		}
	}
	return bin, lock
}

func (cs controllers) image() string {
	cs.l.t.Helper()
	containers, _, _ := unstructured.NestedSlice(cs.deployment().Object, "spec", "template", "spec", "containers")
	return fmt.Sprint(containers[0].(map[string]any)["image"])
}

// replicas checks how many controllers somebody wants, and waits until they are there.
func (cs controllers) replicas(want int64) {
	cs.l.t.Helper()
	if now, _, _ := unstructured.NestedInt64(cs.deployment().Object, "spec", "replicas"); now != want {
		cs.l.t.Errorf("the controller has %d replicas, somebody wanted %d", now, want)
	}
	cs.l.await(10*time.Minute, "every controller to be ready", func() string {
		if ready, _, _ := unstructured.NestedInt64(cs.deployment().Object, "status",
			"readyReplicas"); ready != want {
			return fmt.Sprintf("%d of %d are ready", ready, want)
		}
		return ""
	})
}

func (cs controllers) deployment() *unstructured.Unstructured {
	cs.l.t.Helper()
	u, err := cs.l.getIn(deployments, ourController.namespace, "bflow-controller")
	if err != nil {
		cs.l.t.Fatal(err)
	}
	return u
}

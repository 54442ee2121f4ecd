package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// filled is a run whose second task takes all the room of the disk the first time.
const filled = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: case}
spec:
  workspaces: [{name: run, emptyDir: {}}, {name: elsewhere, persistentVolumeClaim: {claimName: out}}]
  pipelineSpec:
    params: [{name: out, default: OUT}]
    workspaces: [{name: run}]
    tasks:
    - name: first
      workspaces: [{name: run}]
      taskSpec: {workspaces: [{name: run}], results: [{name: r}], steps: [{name: s, image: worker, command: [/worker], args: [write, $(workspaces.run.path)/report, kept, ";", write, $(results.r.path), kept]}]}
    - name: fill
      runAfter: [first]
      workspaces: [{name: run}]
      taskSpec: {workspaces: [{name: run}], steps: [{name: s, image: worker, command: [/worker], args: [fill-once, $(workspaces.run.path)/fill, CODE]}]}
    - name: next
      runAfter: [fill]
      matrix: {params: [{name: what, value: [NEXT]}]}
      taskSpec: {params: [{name: what}], steps: [{name: s, image: worker, command: [/worker], args: [say, next]}]}
    finally:
    - name: teardown
      taskSpec: {steps: [{name: one, image: worker, command: [/worker], onError: continue, args: [exit, "1"]}, {name: two, image: worker, command: [/worker], args: [write, OUT/torn-down, ""]}]}
`

func TestAFullDiskLeavesEarlierResultsAndStillTearsDown(t *testing.T) {
	for _, row := range []struct {
		name, fill, next string
		broken           bool // the journal cannot be written any more
	}{
		{name: "a step that finds no room fails, and the run with it", fill: `"1"`, next: "short"},
		{name: "a journal that finds no room ends the tasks", fill: `"0"`, next: strings.Repeat("x", 9000), broken: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, root := t.TempDir(), hostRoot(t)
			o := testOptions(root, filepath.Join(smallDisk(t), "run"))
			o.Objects = parse(t, strings.NewReplacer("OUT", out, "CODE", row.fill, "NEXT", row.next).Replace(filled))
			s, err := Run(t.Context(), o)
			if errors.Is(err, unix.ENOSPC) != row.broken || err != nil && !strings.Contains(err.Error(), "recording") {
				t.Errorf("error %v", err)
			}
			if s.State != Failed || find(s, "teardown").State != Succeeded {
				t.Errorf("ended as %+v", s)
			}
			if _, err := os.Stat(filepath.Join(out, "torn-down")); err != nil {
				t.Errorf("the teardown did not run: %v", err)
			}
			before, err := StatusOf(o.RunDir)
			if err != nil || find(before, "first").Results["r"].StringVal != "kept" ||
				read(t, filepath.Join(o.RunDir, "report")) != "kept" {
				t.Errorf("what was done is lost: %+v, %v", before, err)
			}
			if err := os.Remove(filepath.Join(o.RunDir, "fill")); err != nil {
				t.Fatal(err)
			}
			s, err = Resume(t.Context(), testOptions(root, o.RunDir))
			if err != nil || s.State != Succeeded || find(s, "first").Attempt != 1 {
				t.Errorf("resumed with room again: %+v, %v", s, err)
			}
		})
	}
}

// smallDisk mounts a disk with room for little more than a journal.
func smallDisk(t *testing.T) string {
	t.Helper()
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
		if os.Getenv("BFLOW_REQUIRE_MOUNT") == "1" {
			t.Fatalf("a small disk cannot be mounted, and BFLOW_REQUIRE_MOUNT=1 asks for one: %v", err)
		}
		t.Skipf("mounting a small disk needs root: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, 0) })
	return disk
}

func TestAFolderThatCannotBeWrittenIsOneSentence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o := testOptions(hostRoot(t), filepath.Join(file, "run"))
	o.Objects = parse(t, deaf)
	_, err := Run(t.Context(), o)
	if err == nil || strings.Contains(err.Error(), "\n") ||
		!strings.Contains(err.Error(), "choose a folder that can be written") {
		t.Errorf("got %v", err)
	}
}

func TestARunIsNotStartedTwice(t *testing.T) {
	o := testOptions(hostRoot(t), filepath.Join(t.TempDir(), "run"))
	o.Objects = parse(t, read(t, "testdata/run/programs.input.yaml"))
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "resume it, or delete it first") {
		t.Errorf("second start: %v", err)
	}
}

func TestFoldersWithoutARunAreSaidToHoldNone(t *testing.T) {
	dir := t.TempDir()
	if _, err := StatusOf(dir); !errors.Is(err, ErrNoRun) {
		t.Errorf("status: %v", err)
	}
	if _, err := Resume(t.Context(), testOptions(dir, dir)); !errors.Is(err, ErrNoRun) {
		t.Errorf("resume: %v", err)
	}
	if err := Cancel(dir); !errors.Is(err, ErrNoRun) {
		t.Errorf("cancel: %v", err)
	}
	if err := Delete(dir); !errors.Is(err, ErrNoRun) {
		t.Errorf("delete: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("asking left %v behind, %v", entries, err)
	}
}

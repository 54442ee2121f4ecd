package rig

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestClientAndServerGetCoresThatShareNothing(t *testing.T) {
	pairs := func(cpu int) []int { return []int{cpu &^ 1, cpu | 1} }
	alone := func(int) []int { return nil }
	for _, row := range []struct {
		name     string
		allowed  []int
		siblings func(int) []int
		want     Cores
	}{
		{"four threads of two cores: the last of the other core", []int{0, 1, 2, 3}, pairs, Cores{Client: 3, Server: 0}},
		{"two threads of one core are better than none, and shared", []int{0, 1}, pairs,
			Cores{Client: 1, Server: 0, Shared: true}},
		{"two cores", []int{2, 5}, alone, Cores{Client: 5, Server: 2}},
		{"one core is shared", []int{7}, alone, Cores{Client: 7, Server: 7, Shared: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, pick(row.allowed, row.siblings)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestListsOfTheKernel(t *testing.T) {
	if diff := cmp.Diff([]int{0, 4, 5, 6}, parseList("0,4-6")); diff != "" {
		t.Error(diff)
	}
}

func TestStatusOfAProcess(t *testing.T) {
	m := parseStatus("Name:\tload-gen\nVmHWM:\t   2048 kB\nVmRSS:\t 1024 kB\nRssAnon:\t 512 kB\nThreads:\t7\n")
	want := Memory{RSS: 1 << 20, Peak: 2 << 20, Anon: 512 << 10, Threads: 7}
	if m != want {
		t.Errorf("%+v, want %+v", m, want)
	}
}

func TestAProcessRunsOnItsCoreAndItsUseIsKnown(t *testing.T) {
	cores, err := PickCores()
	if err != nil {
		t.Fatal(err)
	}
	u, err := Run(context.Background(), Command{Path: "/bin/sh", Core: cores.Client,
		Args: []string{
			"-c", `grep -q "^Cpus_allowed_list:.` + strconv.Itoa(cores.Client) +
				`$" /proc/self/status || exit 9; sleep 0.2; exit 3`,
		}})
	if err != nil {
		t.Fatal(err)
	}
	if u.ExitCode != 3 {
		t.Errorf("exit code %d, want 3 (9: not pinned)", u.ExitCode)
	}
	if u.Wall() < 200*time.Millisecond || u.CPU() <= 0 || u.PeakRSS <= 0 || u.PeakRSS > 50<<20 {
		t.Errorf("usage %+v", u)
	}
	var after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &after); err != nil {
		t.Fatal(err)
	}
	if cores.Client != cores.Server && after.Count() < 2 {
		t.Error("the thread stayed pinned")
	}
}

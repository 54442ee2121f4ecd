package loadgen

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/step"
)

// command runs load-gen as a person would and returns its exit code and all that it said.
func command(t *testing.T, env []string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	get := func(name string) string {
		for _, pair := range env {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	}
	code = step.Run(eventually.Context(t), contract.LoadGen, Command(func() []string { return env }),
		step.Streams{Out: &o, Err: &e, Env: get}, args)
	return code, o.String(), e.String()
}

// putBy puts the load of b by so many processes that start together and returns their run directories.
func putBy(t *testing.T, b *bench, shards int) []string {
	t.Helper()
	if err := b.write(); err != nil {
		t.Fatal(err)
	}
	start := fmt.Sprint(time.Now().Add(time.Second).UnixNano())
	dirs := make([]string, shards)
	var all sync.WaitGroup
	for k := range dirs {
		dirs[k] = filepath.Join(t.TempDir(), fmt.Sprint(k))
		args := []string{"--plan-dir", b.planDir(), "--run-dir", dirs[k], "--run-id", "r", "--endpoint", b.endpoint,
			"--start-at", start}
		if shards > 1 {
			args = append(args, "--shard", fmt.Sprintf("%d/%d", k, shards))
		}
		all.Go(func() {
			if code, _, errs := command(t, nil, args...); code != 0 {
				t.Errorf("shard %d: exit %d\n%s", k, code, errs)
			}
		})
	}
	all.Wait()
	return dirs
}

// readRequests returns what a run directory says of its requests: ids with prompts, in order, and counts of each stage.
func readRequests(t *testing.T, dir string) (ids []string, counts []report.Counts) {
	t.Helper()
	b := bench{runDir: dir}
	r := b.results(t)
	for _, row := range r.rows {
		ids = append(ids, row.ID+" "+row.PromptHash)
	}
	slices.Sort(ids)
	for _, s := range r.stages {
		counts = append(counts, s.Counts)
	}
	return ids, counts
}

func TestMergedShardsAreWhatOneProcessSends(t *testing.T) {
	b := makeBench(t, sim.Config{}, openLoop(60, 1), closedLoop(3, 30))
	whole := putBy(t, b, 1)[0]
	shards := putBy(t, b, 3)
	out := filepath.Join(t.TempDir(), "merged")
	if code, _, errs := command(t, nil, append([]string{"merge", "--plan-dir", b.planDir(), "--run-dir", out},
		shards...)...); code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	ids, counts := readRequests(t, out)
	wantIDs, wantCounts := readRequests(t, whole)
	if diff := cmp.Diff(wantIDs, ids); diff != "" {
		t.Errorf("ids and prompts (-one process, +three shards):\n%s", diff)
	}
	if diff := cmp.Diff(wantCounts, counts); diff != "" {
		t.Errorf("counts (-one process, +three shards):\n%s", diff)
	}
	r, err := assemble.Report(out)
	if err != nil {
		t.Fatal(err)
	}
	m := r.Measurements[0]
	if m.Error != "" || !m.Complete || len(m.Pooled.Stages) != 2 || m.Pooled.Stages[0].Metrics["ttft"].N != 60 {
		t.Errorf("error %q, stages %+v", m.Error, m.Pooled.Stages)
	}
	if !slices.ContainsFunc(m.Notes, func(note string) bool { return strings.HasPrefix(note, "3 shards put this load") }) {
		t.Errorf("notes %q", m.Notes)
	}
}

func TestWhatCannotBeMergedIsRefused(t *testing.T) {
	b := makeBench(t, sim.Config{}, closedLoop(1, 2))
	whole := putBy(t, b, 2)
	other := newBench(t.TempDir(), closedLoop(2, 2))
	if err := other.write(); err != nil {
		t.Fatal(err)
	}
	if err := step.KeepPlan(whole[1], &b.plan); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "merged")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no run directory":        {whole, "--run-dir is required"},
		"one shard":               {[]string{"--run-dir", out, whole[0]}, "at least two shards"},
		"a folder without a plan": {[]string{"--run-dir", out, t.TempDir(), whole[0]}, "--plan-dir"},
		"shards of another plan": {[]string{"--plan-dir", other.planDir(), "--run-dir", out, whole[0], whole[1]},
			"another plan"},
		"an output that is there": {[]string{"--run-dir", whole[1], whole[1], whole[0]}, "is there already"},
	} {
		code, _, errs := command(t, nil, append([]string{"merge"}, c.args...)...)
		if code != contract.ExitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit %d, said %q, want %q", name, code, errs, c.want)
		}
	}
}

package metrics

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestEveryNameIsRegisteredWithItsHelp(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := New(registry)
	if err != nil {
		t.Fatal(err)
	}
	registry.MustRegister(NewRunsCollector(func() (map[string]int, error) { return map[string]int{StateQueued: 3}, nil }))
	m.QueueWait.WithLabelValues("local").Observe(1)
	m.Release.WithLabelValues("local").Observe(1)
	m.Forced.WithLabelValues("local").Inc()
	m.Leftovers.WithLabelValues("local", "Pod").Inc()
	m.Attempts.WithLabelValues("evicted").Inc()
	m.GPUs.WithLabelValues("local", "nvidia.com/gpu", GPUTotal).Set(8)
	m.TargetReachable.WithLabelValues("local").Set(1)
	m.TargetDirty.WithLabelValues("local").Set(0)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != 11 {
		t.Errorf("got %d names, want 11", len(families))
	}
	for _, f := range families {
		if f.GetHelp() == "" || f.GetHelp() != Help(f.GetName()) {
			t.Errorf("%s: help is %q", f.GetName(), f.GetHelp())
		}
	}
}

func TestRunsAreCountedWhenAsked(t *testing.T) {
	c := NewRunsCollector(func() (map[string]int, error) { return map[string]int{StateQueued: 3, StateDone: 1}, nil })
	want := `# HELP bflow_runs PipelineRuns of bflow by state: queued, running, staying, releasing, done.
# TYPE bflow_runs gauge
bflow_runs{state="done"} 1
bflow_runs{state="queued"} 3
bflow_runs{state="releasing"} 0
bflow_runs{state="running"} 0
bflow_runs{state="staying"} 0
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	broken := NewRunsCollector(func() (map[string]int, error) { return nil, errors.New("the cache is not there yet") })
	if _, err := testutil.CollectAndLint(broken); err == nil {
		t.Error("a count that fails must be no zero")
	}
}

func TestTheGuideListsEveryName(t *testing.T) {
	guide, err := os.ReadFile("../../docs/queue.md")
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	if _, err := New(registry); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{Runs, QueueWaitSeconds, ReleaseSeconds, ForcedReleases, Leftovers, Attempts, Unstartable,
		GPUs, GPUSeconds, AdmissionSeconds, TargetReachable, TargetDirty, Leaked, ReasonWrites} {
		if !strings.Contains(string(guide), "`"+name+"`") || !strings.Contains(string(guide), Help(name)) {
			t.Errorf("docs/queue.md does not say what %s is", name)
		}
	}
}

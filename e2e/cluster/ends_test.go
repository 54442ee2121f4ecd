//go:build e2e

package cluster

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/e2e/ends"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// besides is how many rows go on at once.
const besides = 4

// TestRunsOfAClusterEndAsTheTableSays runs the rows of package ends that need nothing of this machine, as bflow run
// --follow does, and compares the exit code, what is printed, the word of the verdict, and what bflow watch ends with.
func TestRunsOfAClusterEndAsTheTableSays(t *testing.T) {
	if testing.Short() {
		t.Skip("forty runs take ten minutes; the same rows end as runs of this machine do")
	}
	l := newLab(t, runs(besides))
	turn := make(chan struct{}, besides)
	t.Run("rows", func(t *testing.T) {
		for _, e := range slices.Concat(ends.Judged(), ends.Unfit(), ends.InvalidInput()) {
			if e.Here {
				continue
			}
			t.Run(e.Name, func(t *testing.T) {
				t.Parallel()
				turn <- struct{}{}
				defer func() { <-turn }()
				endsAs(l.in(t), e)
			})
		}
	})
}

// tries is how often a row runs that a busy machine ends in another way: where a cluster has two cores it does often.
const tries = 2

func endsAs(l *lab, e ends.End) {
	l.t.Helper()
	file := strings.ReplaceAll(e.Name, " ", "-") + ".yaml"
	for range tries {
		r := runToEnd(l, l.write(file, onTheHub(ends.Experiment)), e.Set)
		if e.Quiet && ends.Busy(r.out) {
			continue
		}
		endedAs(l, e, r)
		return
	}
	l.t.Skipf("this machine was too busy for it %d times", tries)
}

// onTheHub is an experiment in the namespace of runs.
func onTheHub(text string) string {
	return strings.Replace(text, "  model: {name", "  namespace: "+namespace+"\n  model: {name", 1)
}

func runToEnd(l *lab, file string, set []string) result {
	l.t.Helper()
	return l.command(40*time.Minute, bflowPath(), append([]string{"run", file, "--follow", "--plain", "--bundle",
		os.Getenv("BFLOW_E2E_BUNDLE"), "--lock", os.Getenv("BFLOW_E2E_LOCK")}, ends.Sets(set)...)...)
}

// endedAs compares how a run has ended with its row.
func endedAs(l *lab, e ends.End, r result) {
	l.t.Helper()
	defer func() {
		if l.t.Failed() {
			l.t.Logf("bflow printed:\n%s\n%s", r.out, r.err)
		}
	}()
	if r.code != e.Code {
		l.t.Errorf("exit code %d, want %d", r.code, e.Code)
	}
	if !regexp.MustCompile(e.Says).MatchString(r.out + r.err) {
		l.t.Errorf("nothing printed says %q", e.Says)
	}
	run := regexp.MustCompile(`ends-\d{8}-\d{6}-\S+`).FindString(r.out)
	if e.Code == contract.ExitUsage {
		if run != "" {
			l.t.Errorf("run %s was made", run)
		}
		return
	}
	if status := l.bflow("watch", run); status.code != e.Code {
		l.t.Errorf("bflow watch ends with %d, want %d", status.code, e.Code)
	}
	word := ""
	var rep report.Report
	if step.ReadJSON(filepath.Join(l.runs, "cluster", run, contract.FileReport), &rep) == nil {
		word = ends.WordOf(&rep)
	}
	if word != e.Word {
		l.t.Errorf("verdict %q, want %q", word, e.Word)
	}
	l.of(run).nothingLeft(beforeForce)
}

// TestMatricesOfAClusterEndAsTheirPointsDo is the same for two points each.
func TestMatricesOfAClusterEndAsTheirPointsDo(t *testing.T) {
	if testing.Short() {
		t.Skip("sixteen runs take five minutes; the same rows end as matrices of this machine do")
	}
	l := newLab(t, runs(besides))
	turn := make(chan struct{}, besides/2)
	t.Run("rows", func(t *testing.T) {
		for i, row := range ends.Matrices() {
			t.Run(row.Name, func(t *testing.T) {
				t.Parallel()
				turn <- struct{}{}
				defer func() { <-turn }()
				l := l.in(t)
				r := runToEnd(l, l.write("matrix-"+string(rune('a'+i))+".yaml", onTheHub(ends.Experiment)+row.Axes()), row.Set)
				if r.code != row.Code {
					t.Errorf("exit code %d, want %d:\n%s\n%s", r.code, row.Code, r.out, r.err)
				}
				matrix := regexp.MustCompile(`ends-\d{8}-\d{6}-\S+`).FindString(r.out)
				made := 0
				for _, pr := range l.list(pipelineRuns, contract.LabelMatrix+"="+matrix) {
					if _, started := pr.GetAnnotations()[contract.AnnotationAdmitted]; started {
						made++
					}
					l.of(pr.GetName()).nothingLeft(beforeForce)
				}
				if made != row.Runs {
					t.Errorf("%d runs were started, want %d", made, row.Runs)
				}
			})
		}
	})
}

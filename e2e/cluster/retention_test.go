//go:build e2e

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"bflow.dev/bflow/runplan/contract"
)

// claims are volumes.
var claims = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}

// TestARunWithALifetimeLeavesNothing: its results are nowhere else, so it stays until they are fetched; then all of it
// goes.
func TestARunWithALifetimeLeavesNothing(t *testing.T) {
	l := newLab(t)
	const team = "bflow-e2e-kept" // without MLflow
	l.team().add(team)
	run := l.submit(l.write("kept.yaml", of(team, reported("  ttl_seconds_after_finished: 3\n"))), "-n", team)[0]
	l.team().watchToEnd(team, run)
	released := ""
	l.await(5*time.Minute, run+" to be released", func() string {
		pr, err := l.getIn(pipelineRuns, team, run)
		if err != nil {
			t.Fatalf("it went with its results: %v", err)
		}
		released = pr.GetAnnotations()[contract.AnnotationReleased]
		return map[bool]string{true: "it is not"}[released == ""]
	})
	l.await(time.Minute, "its pods to go", func() string {
		return names(l, pods, team, contract.LabelRun+"="+run)
	})
	if left := names(l, claims, team, ""); left == "" {
		t.Fatal("its volume went with its results")
	}
	if told := l.bflow("janitor", "-n", team,
		"--dry-run", "--target", contract.TargetLocal); !strings.Contains(told.err,
		"the results exist only there; fetch them with bflow fetch "+run) {
		t.Errorf("bflow janitor says:\n%s", told.err)
	}
	dir := strings.TrimSpace(l.must("fetch", run, "-n", team, "--out", filepath.Join(t.TempDir(), "fetched")))
	if _, err := os.Stat(filepath.Join(dir, contract.FileReport)); err != nil {
		t.Error(err)
	}
	l.await(time.Minute, "nothing to be left of "+run, func() string {
		var left []string
		for _, of := range []struct {
			kind     schema.GroupVersionResource
			selector string
		}{
			{pipelineRuns, ""}, {taskRuns, ""}, {pods, ""}, {claims, ""}, {workloads, ""},
			{secrets, contract.LabelRun + "=" + run},
			{services, ""},
		} {
			if some := names(l, of.kind, team, of.selector); some != "" {
				left = append(left, of.kind.Resource+": "+some)
			}
		}
		for _, name := range strings.Split(names(l, configMaps, team, ""), ", ") {
			if strings.HasPrefix(name, "bflow-plan-") || strings.HasPrefix(name, "bflow-result-") {
				left = append(left, "configmap "+name)
			}
		}
		return strings.Join(left, "; ")
	})
}

// reported is an experiment that comes to a report.
func reported(more string) string {
	return strings.Replace(experiment(oneOfEight, "1s", more), "  stages: {collect: false}\n", "", 1)
}

// names are those of objects in a namespace, "" where there are none.
func names(l *lab, kind schema.GroupVersionResource, in, selector string) string {
	found, err := l.listIn(kind, in, selector)
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, o := range found {
		all = append(all, o.GetName())
	}
	return strings.Join(all, ", ")
}

// TestOfAMatrixOneVolumeIsLeft: the results of its runs are gathered, and are fetched from there. BFLOW_E2E_POINTS is
// how many runs it has.
func TestOfAMatrixOneVolumeIsLeft(t *testing.T) {
	points := 3
	if n, err := strconv.Atoi(os.Getenv("BFLOW_E2E_POINTS")); err == nil {
		points = n
	}
	l := newLab(t, runs(3))
	parent := l.submit(l.write(
		"volumes.yaml", reported(fmt.Sprintf("  matrix: {repeat: %d, max_parallel: 3}\n", points))))[0]
	l.of(parent).waitForEnd(time.Duration(points) * 5 * time.Minute)
	ofRuns := map[string]bool{}
	for _, pr := range l.list(pipelineRuns, contract.LabelMatrix+"="+parent) {
		ofRuns[string(pr.GetUID())] = true
	}
	if len(ofRuns) != points {
		t.Fatalf("%d runs were made, want %d", len(ofRuns), points)
	}
	l.await(10*time.Minute, "the volumes of the runs to go", func() string {
		var left []string
		for _, claim := range l.list(claims, "") {
			for _, owner := range claim.GetOwnerReferences() {
				if ofRuns[string(owner.UID)] {
					left = append(left, claim.GetName())
				}
			}
		}
		return strings.Join(left, ", ")
	})
	if _, err := l.get(claims, contract.ResultsClaim(parent)); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l.must("fetch", parent, "--out", dir)
	for run := range fetched(t, dir) {
		if _, err := os.Stat(filepath.Join(dir, run, contract.FileChecksums)); err != nil {
			t.Error(err)
		}
		delete(ofRuns, string(l.run(run).GetUID()))
	}
	if len(ofRuns) > 0 {
		t.Errorf("the results of %d runs did not come", len(ofRuns))
	}
	l.must("delete", parent)
	l.await(5*time.Minute, "the volume of the matrix to go", func() string {
		_, err := l.get(claims, contract.ResultsClaim(parent))
		if apierrors.IsNotFound(err) {
			return ""
		}
		return fmt.Sprintf("it is there: %v", err)
	})
}

// fetched are the folders of runs.
func fetched(t *testing.T, dir string) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, e := range entries {
		out[e.Name()] = true
	}
	return out
}

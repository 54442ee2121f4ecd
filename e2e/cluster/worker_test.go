//go:build e2e

package cluster

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	queuerun "bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"
)

// workerTarget is the name of the worker as a target of the hub.
const workerTarget = "worker"

// onWorker is the lab of a second cluster, which becomes a target of the hub for as long as the test lasts.
func (l *lab) onWorker() *lab {
	l.t.Helper()
	path := os.Getenv("BFLOW_E2E_WORKER_KUBECONFIG")
	if path == "" {
		l.t.Skip("BFLOW_E2E_WORKER_KUBECONFIG names no second cluster")
	}
	l.target()
	l.await(10*time.Minute, "target "+workerTarget+" to be known", func() string {
		if l.promisedBy(workerTarget)[gpu] == 0 {
			return "its queue promises no GPU"
		}
		return ""
	})
	return l.beside("worker", path, os.Getenv("BFLOW_E2E_WORKER_AUDIT"))
}

// overBoth is 12 points: two targets, three sizes, two loads.
const overBoth = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: both}
spec:
  namespace: benchflow
  model: {name: demo/tiny}
  deployment_profile: sim
  stages: {collect: false}
  target_clusters: [local, worker]
  matrix:
    axes:
      overrides.runtime.resources.limits: [{nvidia.com/gpu: "1"}, {nvidia.com/gpu: "2"}, {nvidia.com/gpu: "4"}]
      load.data.input: [8, 16]
  load: {data: {output: 4}, stages: [{rate: 10, duration: 2s}]}
`

// TestAMatrixRunsOverTwoClusters runs 12 points on the hub and on a worker that has neither Tekton nor Kueue.
func TestAMatrixRunsOverTwoClusters(t *testing.T) {
	l := newLab(t, withWorker, runs(4))
	w := l.onWorker()
	for _, group := range []string{"tekton.dev", "kueue.x-k8s.io"} {
		if l.serves(w, group) {
			t.Fatalf("the worker serves %s, so this proves nothing", group)
		}
	}
	audit := w.mark()
	parent := l.submit(l.write("both.yaml", overBoth))[0]
	l.await(40*time.Minute, parent+" to succeed", func() string {
		status, reason := condition(l.run(parent))
		if status == "False" {
			t.Fatalf("%s failed: %s\n%s", parent, reason, l.must("status", parent))
		}
		if status != "True" {
			return "it is " + reason
		}
		return ""
	})
	children := l.list(pipelineRuns, "bflow.dev/matrix="+parent)
	if len(children) != 12 { // nothing here takes a run away
		for _, c := range children {
			if why := c.GetAnnotations()[queuerun.AnnotationStopped]; why != "" {
				t.Errorf("%s did not end by itself: %s\n%s", c.GetName(), why, l.bflow("status", c.GetName()).out)
			}
		}
		t.Fatalf("%s has %d runs, want one of each of its 12 points", parent, len(children))
	}
	where := map[string][]string{}
	for _, c := range children {
		target := c.GetLabels()[contract.LabelTarget]
		where[target] = append(where[target], c.GetName())
	}
	if len(where[contract.TargetLocal]) != 6 || len(where[workerTarget]) != 6 {
		t.Fatalf("the points ran on %v", where)
	}
	w.ranThere(audit, len(where[workerTarget]))
	here, there := l.filesOf(where[contract.TargetLocal][0]), l.filesOf(where[workerTarget][0])
	if !slices.Equal(here, there) {
		t.Errorf("results of a local point have the files\n%s\nand of a remote one\n%s",
			strings.Join(here, " "), strings.Join(there, " "))
	}
	for _, c := range children {
		l.nothingLeft(c.GetName(), beforeForce)
		w.nothingLeftThere(c.GetName(), beforeForce)
	}
}

// serves says whether a cluster knows a group of kinds.
func (l *lab) serves(w *lab, group string) bool {
	l.t.Helper()
	list, err := w.api.Resource(crds).List(l.t.Context(), metav1.ListOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return slices.ContainsFunc(list.Items, func(u unstructured.Unstructured) bool {
		got, _, _ := unstructured.NestedString(u.Object, "spec", "group")
		return got == group
	})
}

// mark is now, from which the audit log of the cluster is read.
func (l *lab) mark() (from time.Time) {
	l.t.Helper()
	if l.audit == "" {
		l.t.Skip("BFLOW_E2E_AUDIT and BFLOW_E2E_WORKER_AUDIT name no audit logs")
	}
	if _, err := os.Stat(l.audit); err != nil {
		l.t.Fatal(err)
	}
	return time.Now()
}

// ranThere asks the audit log of the worker: for every run an engine, and a Job for each task that touches it, made by
// the account that bflow has there.
func (l *lab) ranThere(from time.Time, runs int) {
	l.t.Helper()
	made := map[string]map[string]bool{} // by resource: the names
	for _, e := range l.audited(from) {
		if !e.byRunner() {
			continue
		}
		if made[e.ObjectRef.Resource] == nil {
			made[e.ObjectRef.Resource] = map[string]bool{}
		}
		made[e.ObjectRef.Resource][e.ObjectRef.Name] = true
	}
	for resource, least := range map[string]int{"deployments": runs, "services": runs, "jobs": 2 * runs} {
		if n := len(made[resource]); n < least {
			l.t.Errorf("by the audit log of the worker bflow-runner made %d %s there, want at least %d", n, resource, least)
		}
	}
}

// action is a line of an audit log.
type action struct {
	Verb, Stage              string
	User                     struct{ Username string }
	ObjectRef                struct{ Resource, Namespace, Name, Subresource string }
	ResponseStatus           struct{ Code int }
	RequestReceivedTimestamp time.Time
	StageTimestamp           time.Time // of its response, in stage ResponseComplete
}

// made says whether something was created.
func (a action) made() bool {
	return a.Verb == "create" && a.Stage == "ResponseComplete" && a.ResponseStatus.Code < 300 &&
		a.ObjectRef.Subresource == ""
}

func (a action) byRunner() bool {
	return a.made() && a.User.Username == "system:serviceaccount:"+namespace+":bflow-runner"
}

// audited reads the audit log of the cluster from a mark on, also what was rotated away meanwhile: audit-TIME.log
// beside audit.log.
func (l *lab) audited(from time.Time) (all []action) {
	l.t.Helper()
	ext := filepath.Ext(l.audit)
	parts, err := filepath.Glob(strings.TrimSuffix(l.audit, ext) + "*" + ext)
	if err != nil {
		l.t.Fatal(err)
	}
	slices.Sort(parts) // the log itself comes last
	for _, part := range parts {
		all = append(all, l.auditedIn(part, from)...)
	}
	return all
}

func (l *lab) auditedIn(path string, from time.Time) (all []action) {
	l.t.Helper()
	file, err := os.Open(path)
	if err != nil {
		l.t.Fatal(err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.ModTime().Before(from) {
		return nil
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var a action
		if json.Unmarshal(lines.Bytes(), &a) == nil && !a.RequestReceivedTimestamp.Before(from) {
			all = append(all, a)
		}
	}
	if err := lines.Err(); err != nil {
		l.t.Fatal(err)
	}
	return all
}

// filesOf are the names of the results of a run, sorted.
func (l *lab) filesOf(run string) []string {
	l.t.Helper()
	dir := filepath.Join(l.dir, "fetched-"+run)
	l.must("fetch", run, "--out", dir)
	var names []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			if !strings.HasPrefix(name, "deployment/logs/") { // named after pods
				names = append(names, name)
			}
		}
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// nothingLeftThere waits until a target holds nothing of a run.
func (l *lab) nothingLeftThere(run string, limit time.Duration) {
	l.t.Helper()
	l.await(limit, "nothing to be left of "+run+" on the worker", func() string {
		var left []string
		for kind, list := range map[string][]unstructured.Unstructured{
			"Service": l.ofRun(services, run), "Deployment": l.ofRun(deployments, run), "Job": l.ofRun(jobs, run),
			"Secret": l.ofRun(secrets, run), "ConfigMap": l.ofRun(configMaps, run), "Pod": l.ofRun(pods, run),
		} {
			for _, u := range list {
				left = append(left, fmt.Sprintf("%s %s", kind, u.GetName()))
			}
		}
		return strings.Join(left, ", ")
	})
}

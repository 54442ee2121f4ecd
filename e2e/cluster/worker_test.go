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
	l.targets().add()
	l.await(10*time.Minute, "target "+workerTarget+" to be known", func() string {
		if l.quota().promisedBy(workerTarget)[gpu] == 0 {
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
		if l.targets().serves(w, group) {
			t.Fatalf("the worker serves %s, so this proves nothing", group)
		}
	}
	audit := w.auditLog().mark()
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
	w.auditLog().ranThere(audit, len(where[workerTarget]))
	here, there := l.of(where[contract.TargetLocal][0]).files(), l.of(where[workerTarget][0]).files()
	if !slices.Equal(here, there) {
		t.Errorf("results of a local point have the files\n%s\nand of a remote one\n%s",
			strings.Join(here, " "), strings.Join(there, " "))
	}
	for _, c := range children {
		l.of(c.GetName()).nothingLeft(beforeForce)
		w.of(c.GetName()).nothingLeftThere(beforeForce)
	}
}

// serves says whether a cluster knows a group of kinds.
func (ts targets) serves(w *lab, group string) bool {
	ts.l.t.Helper()
	list, err := w.api.Resource(crds).List(ts.l.t.Context(), metav1.ListOptions{})
	if err != nil {
		ts.l.t.Fatal(err)
	}
	return slices.ContainsFunc(list.Items, func(u unstructured.Unstructured) bool {
		got, _, _ := unstructured.NestedString(u.Object, "spec", "group")
		return got == group
	})
}

// mark is now, from which the audit log of the cluster is read.
func (al auditLog) mark() (from time.Time) {
	al.l.t.Helper()
	if al.l.audit == "" {
		al.l.t.Skip("BFLOW_E2E_AUDIT and BFLOW_E2E_WORKER_AUDIT name no audit logs")
	}
	if _, err := os.Stat(al.l.audit); err != nil {
		al.l.t.Fatal(err)
	}
	return time.Now()
}

// ranThere asks the audit log of the worker: for every run an engine, and a Job for each task that touches it, made by
// the account that bflow has there.
func (al auditLog) ranThere(from time.Time, runs int) {
	al.l.t.Helper()
	made := map[string]map[string]bool{} // by resource: the names
	for _, e := range al.since(from) {
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
			al.l.t.Errorf("by the audit log of the worker bflow-runner made %d %s there, want at least %d", n, resource, least)
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

// since reads the audit log of the cluster from a mark on, also what was rotated away meanwhile: audit-TIME.log
// beside audit.log.
func (al auditLog) since(from time.Time) (all []action) {
	al.l.t.Helper()
	ext := filepath.Ext(al.l.audit)
	parts, err := filepath.Glob(strings.TrimSuffix(al.l.audit, ext) + "*" + ext)
	if err != nil {
		al.l.t.Fatal(err)
	}
	slices.Sort(parts) // the log itself comes last
	for _, part := range parts {
		all = append(all, al.sinceIn(part, from)...)
	}
	return all
}

func (al auditLog) sinceIn(path string, from time.Time) (all []action) {
	al.l.t.Helper()
	file, err := os.Open(path)
	if err != nil {
		al.l.t.Fatal(err)
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
		al.l.t.Fatal(err)
	}
	return all
}

// files are the names of the results of a run, sorted.
func (lr labRun) files() []string {
	lr.l.t.Helper()
	dir := filepath.Join(lr.l.dir, "fetched-"+lr.name)
	lr.l.must("fetch", lr.name, "--out", dir)
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
		lr.l.t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// nothingLeftThere waits until a target holds nothing of a run.
func (lr labRun) nothingLeftThere(limit time.Duration) {
	lr.l.t.Helper()
	lr.l.await(limit, "nothing to be left of "+lr.name+" on the worker", func() string {
		var left []string
		for kind, list := range map[string][]unstructured.Unstructured{
			"Service": lr.objects(services), "Deployment": lr.objects(deployments), "Job": lr.objects(jobs),
			"Secret": lr.objects(secrets), "ConfigMap": lr.objects(configMaps), "Pod": lr.objects(pods),
		} {
			for _, u := range list {
				left = append(left, fmt.Sprintf("%s %s", kind, u.GetName()))
			}
		}
		return strings.Join(left, ", ")
	})
}

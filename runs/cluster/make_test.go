package cluster_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/profiles"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/cluster"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/apis"
)

const (
	namespace = "bench"
	runsAt    = "/apis/tekton.dev/v1/namespaces/bench/pipelineruns"
	tasksAt   = "/apis/tekton.dev/v1/namespaces/bench/taskruns"
	mapsAt    = "/api/v1/namespaces/bench/configmaps"
	queueAt   = "/apis/kueue.x-k8s.io/v1beta2/namespaces/bench/localqueues/local"
)

const experiment = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: demo}
spec:
  namespace: bench
  model: {name: acme/tiny}
  deployment_profile: sim
  load: {data: {input: 16, output: 4}, stages: [{rate: 10, duration: 2s}]}
`

// makePlan resolves an experiment.
func makePlan(t testing.TB) *runplan.RunPlan {
	t.Helper()
	p, err := resolve()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func resolve() (*runplan.RunPlan, error) {
	set, found := spec.Load(spec.Options{Shipped: profiles.FS,
		ReadFile: func(string) ([]byte, error) { return []byte(experiment), nil }}, "demo.yaml")
	if found.Err() != nil {
		return nil, found.Err()
	}
	m, found := plan.Expand(set.Experiments[0], set.Catalogue, plan.Options{})
	if found.Err() != nil {
		return nil, found.Err()
	}
	for p, found := range m.Plans() {
		return p, found.Err()
	}
	return nil, errors.New("no plan")
}

// planHash is the label of that plan, which its runs and their tasks carry.
func planHash() string {
	p, err := resolve()
	if err != nil {
		panic(err)
	}
	return p.Hash[:63]
}

// newCluster is a cluster with a queue, and a connection to it.
func newCluster(t *testing.T) (*apitest.Server, *cluster.Cluster) {
	t.Helper()
	srv := apitest.New(t, namespace)
	srv.ServeRuns()
	srv.Put(queueAt, map[string]any{})
	return srv, connect(t, srv)
}

func connect(t *testing.T, srv *apitest.Server) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Connect(t.Context(), srv.Config(), "hub")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// submission names its runs NAME-1, NAME-2, ...
func submission(o compile.Options, plans ...*runplan.RunPlan) cluster.Submission {
	n := 0
	return cluster.Submission{Plans: plans, Compile: o, Name: func(base string) string {
		n++
		return fmt.Sprintf("%s-%d", base, n)
	}}
}

// submit makes one run.
func submit(t *testing.T, c *cluster.Cluster, o compile.Options) *cluster.Run {
	t.Helper()
	runs, err := c.Submit(t.Context(), submission(o, makePlan(t)))
	if err != nil {
		t.Fatal(err)
	}
	return runs[0]
}

// wants fails unless err says everything.
func wants(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

// makeRun is a PipelineRun that Tekton has taken up.
func makeRun(name string, change ...func(*tektonv1.PipelineRun)) *tektonv1.PipelineRun {
	pr := &tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace,
		Labels: map[string]string{contract.LabelPlanHash: planHash(), contract.LabelRun: name, contract.LabelAttempt: "1"}}}
	for _, f := range change {
		f(pr)
	}
	return pr
}

func condition(status corev1.ConditionStatus, reason, message string) func(*tektonv1.PipelineRun) {
	return func(pr *tektonv1.PipelineRun) {
		pr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: status, Reason: reason,
			Message: message})
	}
}

// begun lets the run have tasks.
func begun(tasks ...string) func(*tektonv1.PipelineRun) {
	return func(pr *tektonv1.PipelineRun) {
		pr.Spec.Status = ""
		pr.Status.PipelineSpec = &tektonv1.PipelineSpec{}
		for _, name := range tasks {
			if name == contract.Finish {
				pr.Status.PipelineSpec.Finally = append(pr.Status.PipelineSpec.Finally, tektonv1.PipelineTask{Name: name})
				continue
			}
			pr.Status.PipelineSpec.Tasks = append(pr.Status.PipelineSpec.Tasks, tektonv1.PipelineTask{Name: name})
			pr.Status.ChildReferences = append(pr.Status.ChildReferences,
				tektonv1.ChildStatusReference{Name: pr.Name + "-" + name, PipelineTaskName: name})
		}
	}
}

// makeTask is a TaskRun with one step.
func makeTask(run, task string, status corev1.ConditionStatus, reason, message string, exit *int32) *tektonv1.TaskRun {
	start := metav1.Now()
	tr := &tektonv1.TaskRun{ObjectMeta: metav1.ObjectMeta{Name: run + "-" + task, Namespace: namespace,
		Labels: map[string]string{"tekton.dev/pipelineRun": run, "tekton.dev/pipelineTask": task, contract.LabelRun: run,
			contract.LabelPlanHash: planHash()}}}
	tr.Status.PodName, tr.Status.StartTime = tr.Name+"-pod", &start
	tr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: status, Reason: reason,
		Message: message})
	step := tektonv1.StepState{Name: task, Container: "step-" + task}
	if exit != nil {
		step.Terminated = &corev1.ContainerStateTerminated{ExitCode: *exit}
		tr.Status.CompletionTime = &start
	} else if reason == "Running" {
		step.Running = &corev1.ContainerStateRunning{StartedAt: start}
	}
	tr.Status.Steps = []tektonv1.StepState{step}
	return tr
}

func code(n int32) *int32 { return &n }

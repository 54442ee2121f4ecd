package pipelines

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Shape is all that tells one Pipeline from another. Runs of equal shape share a Pipeline.
type Shape struct {
	Loads            []Load        // measurements to run, in order; empty when the plan skips the benchmark
	APIKey           Secret        // of the server under test, for the tasks that are not about one measurement
	Teardown         bool          // the run deploys something and removes it again
	TeardownDeadline time.Duration // bounds the first step of finish; without Teardown unused
	FinalizeDeadline time.Duration // bounds the last step of finish
	// the server runs on another cluster, and so do the tasks that talk to it
	Remote bool `json:",omitempty"`
	// the plan refers to values of Secrets, which tasks find in a workspace
	Secrets bool `json:",omitempty"`
	// of Remote: cores that a load generator asks for there, "" for the usual
	LoadCPU string `json:",omitempty"`
}

// Load is the pipeline task of one measurement.
type Load struct {
	APIKey Secret
}

// Secret names one value of a Secret; the zero value names none.
type Secret = runplan.SecretKey

// LoadTask returns the name of the pipeline task of measurement n, counted from 0.
func LoadTask(n int) string { return contract.LoadGen + "-" + strconv.Itoa(n) }

// FinishTask returns the name of the Task of pipeline task finish.
func (s Shape) FinishTask() string {
	if s.Teardown {
		return contract.Finish
	}
	return FinishKeep
}

// TaskNames returns the Tasks that a Pipeline of this shape refers to, in the order of a run.
func (s Shape) TaskNames() []string {
	names := []string{contract.Provision, s.near(smoketest()).name}
	if len(s.Loads) > 0 {
		names = append(names, s.near(loadGen()).name)
	}
	if s.Teardown {
		names = append(names, contract.Release)
	}
	return append(names, s.near(collect()).name, contract.MLflowPush, s.FinishTask())
}

// near is a task that runs where the server under test does.
func (s Shape) near(p part) part {
	if s.Remote {
		return withLauncher(p)
	}
	return p
}

// New returns the Pipeline of a shape; ref says where the Task of a name is found.
func New(name, version string, s Shape, ref func(task string) *tektonv1.TaskRef) *tektonv1.Pipeline {
	p := &tektonv1.Pipeline{
		TypeMeta: metav1.TypeMeta{APIVersion: "tekton.dev/v1", Kind: "Pipeline"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: catalogLabels(version),
			Annotations: catalogAnnotations("Inference benchmark")},
		Spec: tektonv1.PipelineSpec{
			DisplayName: "Inference benchmark",
			Description: "Deploys a model server, measures it, removes it and reports.",
			Params:      paramSpecs([]string{contract.ParamRunID, contract.ParamAttempt}),
			Workspaces: []tektonv1.PipelineWorkspaceDeclaration{
				{Name: contract.WorkspacePlan, Description: workspaceAbout(contract.WorkspacePlan)},
				{Name: contract.WorkspaceRun, Description: workspaceAbout(contract.WorkspaceRun)},
				{Name: contract.WorkspaceTarget, Description: workspaceAbout(contract.WorkspaceTarget), Optional: true},
			},
			Tasks:   s.dag(ref),
			Finally: []tektonv1.PipelineTask{s.finish(ref)},
			Results: pipelineResults(),
		},
	}
	if s.Secrets {
		p.Spec.Workspaces = append(p.Spec.Workspaces, tektonv1.PipelineWorkspaceDeclaration{
			Name: contract.WorkspaceSecrets, Description: workspaceAbout(contract.WorkspaceSecrets), Optional: true})
	}
	return p
}

// dag chains the tasks: each has the run directory for itself.
func (s Shape) dag(ref func(string) *tektonv1.TaskRef) []tektonv1.PipelineTask {
	endpoint := tektonv1.Params{param(contract.ParamEndpoint, taskResult(contract.Provision, contract.ResultEndpoint))}
	key := apiKeyBinding(s.APIKey)
	tasks := []tektonv1.PipelineTask{
		s.bind(provision(), ref, key),
		s.bind(s.near(smoketest()), ref, endpoint, key),
	}
	for n, load := range s.Loads {
		t := s.bind(s.near(loadGen()), ref, endpoint, tektonv1.Params{
			param(contract.ParamMeasurement, strconv.Itoa(n))}, apiKeyBinding(load.APIKey), s.cpuBinding())
		t.Name = LoadTask(n)
		tasks = append(tasks, t)
	}
	if s.Teardown {
		tasks = append(tasks, s.bind(release(), ref, key))
	}
	tasks = append(tasks, s.bind(s.near(collect()), ref, endpoint), s.bind(mlflowPush(), ref))
	for i := 1; i < len(tasks); i++ {
		tasks[i].RunAfter = []string{tasks[i-1].Name}
	}
	return tasks
}

func (s Shape) finish(ref func(string) *tektonv1.TaskRef) tektonv1.PipelineTask {
	params := tektonv1.Params{
		param(contract.ParamFinalizeDeadline, s.FinalizeDeadline.String()),
		param(contract.ParamStatus, "$(tasks.status)"),
		param(contract.ParamLoads, s.loadReasons()),
	}
	p := finishKeep()
	if s.Teardown {
		p = finish()
		params = append(tektonv1.Params{param(contract.ParamTeardownDeadline, s.TeardownDeadline.String())}, params...)
	}
	t := s.bind(p, ref, params)
	t.Name = contract.Finish
	return t
}

// loadReasons says in one text why the load generators ended, once they have.
func (s Shape) loadReasons() string {
	reasons := make([]string, len(s.Loads))
	for n := range s.Loads {
		reasons[n] = taskReason(LoadTask(n))
	}
	return strings.Join(reasons, ",")
}

// bind makes the pipeline task of p, named like its Task, with the params and workspaces that every task has.
func (s Shape) bind(p part, ref func(string) *tektonv1.TaskRef, params ...tektonv1.Params) tektonv1.PipelineTask {
	t := tektonv1.PipelineTask{
		Name:    cmp.Or(p.as, p.name),
		TaskRef: ref(p.name),
		Params: tektonv1.Params{
			param(contract.ParamRunID, paramRef(contract.ParamRunID)),
			param(contract.ParamAttempt, paramRef(contract.ParamAttempt)),
		},
	}
	if p.as != "" {
		t.Retries = awayRetries
	}
	for _, more := range params {
		t.Params = append(t.Params, more...)
	}
	for _, ws := range p.workspaces() {
		if ws.Name == contract.WorkspaceSecrets && !s.Secrets {
			continue
		}
		t.Workspaces = append(t.Workspaces, tektonv1.WorkspacePipelineTaskBinding{Name: ws.Name, Workspace: ws.Name})
	}
	return t
}

func (s Shape) cpuBinding() tektonv1.Params {
	if s.LoadCPU == "" {
		return nil
	}
	return tektonv1.Params{param(contract.ParamLoadCPU, s.LoadCPU)}
}

func apiKeyBinding(s Secret) tektonv1.Params {
	if s.Name == "" {
		return nil
	}
	return tektonv1.Params{param(contract.ParamAPIKeySecret, s.Name), param(contract.ParamAPIKeyKey, s.Key)}
}

func param(name, value string) tektonv1.Param {
	return tektonv1.Param{Name: name, Value: *tektonv1.NewStructuredValues(value)}
}

func pipelineResults() []tektonv1.PipelineResult {
	var results []tektonv1.PipelineResult
	for _, name := range []string{contract.ResultVerdict, contract.ResultMLflowRunID, contract.ResultMLflowURL} {
		results = append(results, tektonv1.PipelineResult{
			Name: name, Type: tektonv1.ResultsTypeString, Description: resultAbout(name),
			Value: *tektonv1.NewStructuredValues(taskResult(contract.MLflowPush, name)),
		})
	}
	return results
}

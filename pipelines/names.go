package pipelines

import (
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// noSecret is the default of the API key's Secret: a name that nobody gives to one. The key is optional, so the
// variable stays unset.
const noSecret = "bflow-no-api-key"

// paramDefault returns the default of a param that need not be bound.
func paramDefault(name string) (value string, ok bool) {
	switch name {
	case contract.ParamAttempt:
		return "1", true
	case contract.ParamAPIKeySecret:
		return noSecret, true
	case contract.ParamAPIKeyKey:
		return "api-key", true
	case contract.ParamLoads:
		return "", true
	case contract.ParamLoadCPU:
		return loadCPU(), true
	default:
		return "", false
	}
}

// paramAbout, resultAbout and workspaceAbout describe names of package contract to the readers of a catalog.
func paramAbout(name string) string {
	return map[string]string{
		contract.ParamRunID:        "Name of the run: that of its first PipelineRun.",
		contract.ParamAttempt:      "Attempt of the run, from 1.",
		contract.ParamEndpoint:     "Base URL of the server under test.",
		contract.ParamMeasurement:  "Index of the measurement in the plan, from 0.",
		contract.ParamAPIKeySecret: "Name of the Secret that holds the API key of the server under test.",
		contract.ParamAPIKeyKey:    "Key of the API key in its Secret.",
		contract.ParamLoadCPU:      "Cores that the load generator asks for on the target, such as 500m.",
		contract.ParamStatus:       "How the tasks before ended: Succeeded, Completed, Failed or None.",
		contract.ParamLoads: "Why the load generators ended: Tekton's reasons in the order of the " +
			"measurements, by commas.",
		contract.ParamTeardownDeadline: "Longest time for the teardown, such as 10m.",
		contract.ParamFinalizeDeadline: "Longest time for the last words to MLflow, such as 4m.",
	}[name]
}

func resultAbout(name string) string {
	return map[string]string{
		contract.ResultEndpoint:    "Base URL of the server under test.",
		contract.ResultReason:      "Why it failed, in one sentence.",
		contract.ResultLost:        "How the target took the task away, in one sentence: the run is tried again.",
		contract.ResultVerdict:     "pass, fail, inconclusive or invalid.",
		contract.ResultMLflowRunID: "Id of the MLflow run, empty without a tracking server.",
		contract.ResultMLflowURL:   "Page of the MLflow run, empty without a tracking server.",
	}[name]
}

func workspaceAbout(name string) string {
	return map[string]string{
		contract.WorkspacePlan:    "ConfigMap with the plan of the run.",
		contract.WorkspaceRun:     "Run directory: everything the run writes.",
		contract.WorkspaceSecrets: "Values of Secrets that the plan refers to, as NAME/KEY.",
		contract.WorkspaceTarget: "Kubeconfig of a remote target, of a run without a queue; else the " +
			"controller hands it over.",
	}[name]
}

func paramSpecs(names []string) tektonv1.ParamSpecs {
	specs := make(tektonv1.ParamSpecs, len(names))
	for i, name := range names {
		specs[i] = tektonv1.ParamSpec{Name: name, Type: tektonv1.ParamTypeString, Description: paramAbout(name)}
		if value, ok := paramDefault(name); ok {
			specs[i].Default = tektonv1.NewStructuredValues(value)
		}
	}
	return specs
}

func resultSpecs(names []string) []tektonv1.TaskResult {
	var specs []tektonv1.TaskResult
	for _, name := range names {
		specs = append(specs, tektonv1.TaskResult{
			Name: name, Type: tektonv1.ResultsTypeString, Description: resultAbout(name),
		})
	}
	return specs
}

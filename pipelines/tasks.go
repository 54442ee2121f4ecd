package pipelines

import (
	"time"

	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
)

// SummaryDeadline bounds the last step of finish, which writes one ConfigMap.
const SummaryDeadline = 30 * time.Second

// FinishKeep is the Task of pipeline task finish for a run that tears nothing down.
const FinishKeep = contract.Finish + "-keep"

// parts describes every Task, in the order of a run.
func parts() []part {
	return []part{provision(), smoketest(), loadGen(), release(), collect(), mlflowPush(), finish(), finishKeep(),
		withLauncher(smoketest()), withLauncher(loadGen()), withLauncher(collect())}
}

// withAPIKey appends the params that name the API key of the server under test.
func withAPIKey(params ...string) []string {
	return append(params, contract.ParamAPIKeySecret, contract.ParamAPIKeyKey)
}

func provision() part {
	return part{
		name: contract.Provision, display: "Provision", resume: contract.ResumeRepeat,
		about:   "Deploys the server under test, or finds an existing one, and waits until the right model answers.",
		params:  withAPIKey(),
		secrets: true,
		results: []string{contract.ResultEndpoint, contract.ResultReason},
		steps: []stepPart{{name: contract.Provision, binary: contract.Provision, sub: "up", target: true,
			env: apiKey(), args: []string{
				"--endpoint-result=" + resultPath(contract.ResultEndpoint),
				"--reason-result=" + resultPath(contract.ResultReason)}}},
	}
}

func smoketest() part {
	return part{
		name: contract.Smoketest, display: "Smoke test", resume: contract.ResumeRepeat,
		about:   "Asks the server under test a few questions and stops the run when it is not fit to be measured.",
		secrets: true,
		params:  withAPIKey(contract.ParamEndpoint),
		steps:   []stepPart{{name: contract.Smoketest, binary: contract.Smoketest, env: apiKey(), args: endpointArg()}},
	}
}

func loadGen() part {
	return part{
		name: contract.LoadGen, display: "Load generator", resume: contract.ResumeRestart,
		about:   "Puts the load of one measurement on the server under test and records every request.",
		secrets: true,
		params:  withAPIKey(contract.ParamEndpoint, contract.ParamMeasurement),
		steps: []stepPart{{name: contract.LoadGen, binary: contract.LoadGen, env: apiKey(),
			args: append(endpointArg(), "--measurement="+paramRef(contract.ParamMeasurement))}},
	}
}

func release() part {
	return part{
		name: contract.Release, display: "Release",
		about:   "Takes the last scrape and the logs of the server under test, then removes it, so that its GPUs are free.",
		secrets: true,
		params:  withAPIKey(),
		steps: []stepPart{
			{name: contract.Release, binary: contract.Provision, sub: "release", target: true, env: apiKey()}},
	}
}

func collect() part {
	return part{
		name: contract.Collect, display: "Collect",
		about:   "Turns what was recorded into the report and judges it.",
		secrets: true,
		params:  []string{contract.ParamEndpoint}, // and no key: it asks Prometheus, and the server under test nothing
		steps: []stepPart{{name: contract.Collect, binary: contract.Collect, metrics: true,
			env: []corev1.EnvVar{fromPod(contract.EnvNode, "spec.nodeName")}, args: endpointArg()}},
	}
}

func mlflowPush() part {
	return part{
		name: contract.MLflowPush, display: "Push to MLflow",
		about:   "Writes the results to MLflow where a tracking server is set, then ends by the verdict of the run.",
		results: []string{contract.ResultVerdict, contract.ResultMLflowRunID, contract.ResultMLflowURL},
		steps: []stepPart{
			{name: contract.StepPush, binary: contract.MLflowPush, sub: contract.StepPush, env: mlflowEnv(), args: []string{
				"--verdict-result=" + resultPath(contract.ResultVerdict),
				"--run-id-result=" + resultPath(contract.ResultMLflowRunID),
				"--url-result=" + resultPath(contract.ResultMLflowURL),
			}},
			{name: contract.StepVerdict, binary: contract.MLflowPush, sub: contract.StepVerdict},
		},
	}
}

// mlflowEnv is what a push is told beside the files of the run.
func mlflowEnv() []corev1.EnvVar {
	return append(mlflowAccess(),
		fromPod(contract.EnvMLflowParent, "metadata.annotations['"+contract.AnnotationMLflowParent+"']"), whereItRuns())
}

// finish is one Task, because finally tasks run side by side and the order of its steps matters. No step has a
// timeout: Tekton skips all later steps of one that times out. Each binary bounds itself.
func finish() part {
	p := finishKeep()
	p.name, p.display = contract.Finish, "Finish"
	p.about = "Removes what the run left on the target, gives its MLflow run the true status and sums it up, " +
		"whatever happened before."
	p.params = append([]string{contract.ParamTeardownDeadline}, p.params...)
	p.steps = append([]stepPart{{name: "teardown", binary: contract.Provision, sub: "down", target: true, goOn: true,
		args: []string{"--deadline=" + paramRef(contract.ParamTeardownDeadline)}}}, p.steps...)
	return p
}

func finishKeep() part {
	return part{
		name: FinishKeep, display: "Finish, keeping the deployment",
		about:  "Gives the MLflow run of the run its true status and sums it up, whatever happened before.",
		params: []string{contract.ParamFinalizeDeadline, contract.ParamStatus, contract.ParamLoads},
		steps: []stepPart{
			{name: "finalize", binary: contract.MLflowPush, sub: "finalize", goOn: true, env: mlflowEnv(),
				most: contract.Collect,
				args: []string{"--deadline=" + paramRef(contract.ParamFinalizeDeadline),
					"--status=" + paramRef(contract.ParamStatus),
					"--loads=" + paramRef(contract.ParamLoads)}},
			{name: "summary", binary: contract.Provision, sub: "summary", goOn: true, args: []string{
				"--deadline=" + SummaryDeadline.String(), "--status=" + paramRef(contract.ParamStatus)}},
		},
	}
}

func endpointArg() []string { return []string{"--endpoint=" + paramRef(contract.ParamEndpoint)} }

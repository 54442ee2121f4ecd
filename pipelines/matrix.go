package pipelines

import (
	"strconv"

	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Matrix is all that tells the Pipeline of one matrix from that of another.
type Matrix struct {
	Image       string // of binary bflow
	Root        string // digest over the points
	Pieces      int    // that hold them
	Points      int
	MaxParallel int  // 0 = what keeps the queues busy
	FailFast    bool // after a failure nothing more starts
	Experiment  string
}

// Spec is the Pipeline of a matrix, which stands in its PipelineRun: a custom task, for which the controller makes the
// runs, between two small tasks of ours.
func (m Matrix) Spec() *tektonv1.PipelineSpec {
	return &tektonv1.PipelineSpec{
		DisplayName: "Inference benchmarks, a matrix",
		Description: "Runs every point of an experiment, each as a PipelineRun of its own that queues for its GPUs, " +
			"and sums them up.\n" +
			"Cancelling it cancels all of them.",
		Tasks:   []tektonv1.PipelineTask{m.begin(), m.children()},
		Finally: []tektonv1.PipelineTask{m.aggregate()},
		Results: []tektonv1.PipelineResult{
			{Name: contract.ResultVerdict, Type: tektonv1.ResultsTypeString,
				Description: "pass, fail, inconclusive or invalid: the worst of all runs.",
				Value: *tektonv1.NewStructuredValues(
					"$(finally." + contract.MatrixAggregate + ".results." + contract.ResultVerdict + ")")},
		},
	}
}

// begin makes the MLflow run that those of the children belong below: each of them says so when it is pushed.
func (m Matrix) begin() tektonv1.PipelineTask {
	return tektonv1.PipelineTask{Name: contract.MatrixBegin, TaskSpec: &tektonv1.EmbeddedTask{TaskSpec: tektonv1.TaskSpec{
		DisplayName: "Begin",
		Description: "Makes the MLflow run of the matrix, where a tracking server is set.",
		Results:     resultSpecs([]string{contract.ResultMLflowRunID}),
		Volumes:     submitVolumes()[:1], // it asks the tracking server alone
		Steps: []tektonv1.Step{m.step(contract.MatrixBegin,
			"--experiment="+m.Experiment, "--run-id-result="+resultPath(contract.ResultMLflowRunID))},
	}}}
}

func (m Matrix) children() tektonv1.PipelineTask {
	return tektonv1.PipelineTask{
		Name:    contract.MatrixChildren,
		TaskRef: &tektonv1.TaskRef{APIVersion: contract.MatrixAPIVersion, Kind: contract.MatrixKind},
		Params: tektonv1.Params{
			param(contract.ParamPlans, m.Root),
			param(contract.ParamPieces, strconv.Itoa(m.Pieces)),
			param(contract.ParamPoints, strconv.Itoa(m.Points)),
			param(contract.ParamMaxParallel, strconv.Itoa(m.MaxParallel)),
			param(contract.ParamFailFast, strconv.FormatBool(m.FailFast)),
			param(contract.ParamMLflowRun, taskResult(contract.MatrixBegin, contract.ResultMLflowRunID)),
		},
		Timeout: &metav1.Duration{}, // none: without a word it were an hour
	}
}

// aggregate reads the runs and their summaries, with the right of the account that submits.
func (m Matrix) aggregate() tektonv1.PipelineTask {
	last := m.step(contract.MatrixAggregate,
		"--experiment="+m.Experiment, "--token-dir="+contract.SubmitDir,
		"--verdict-result="+resultPath(contract.ResultVerdict))
	last.VolumeMounts = append(last.VolumeMounts, corev1.VolumeMount{
		Name: submitVolume, MountPath: contract.SubmitDir, ReadOnly: true,
	})
	labels := tektonv1.PipelineTaskMetadata{Labels: asksForToken()}
	return tektonv1.PipelineTask{Name: contract.MatrixAggregate,
		TaskSpec: &tektonv1.EmbeddedTask{Metadata: labels, TaskSpec: tektonv1.TaskSpec{
			DisplayName: "Aggregate",
			Description: "Sums all runs up: a page, the verdict, and the end of the MLflow run of the matrix.",
			Results: []tektonv1.TaskResult{{Name: contract.ResultVerdict, Type: tektonv1.ResultsTypeString,
				Description: "pass, fail, inconclusive or invalid: the worst of all runs."}},
			Volumes: submitVolumes(),
			Steps:   []tektonv1.Step{last},
		}}}
}

// step is one of binary bflow.
func (m Matrix) step(name string, args ...string) tektonv1.Step {
	room := size{"50m", "128Mi", "1", "1Gi"}
	env := append([]corev1.EnvVar{
		{Name: "HOME", Value: "/tmp"},
		fromPod(contract.EnvPipelineRun, "metadata.labels['tekton.dev/pipelineRun']"),
		fromPod(contract.EnvPipelineRunUID, "metadata.labels['tekton.dev/pipelineRunUID']"),
		fromPod(contract.EnvNamespace, "metadata.namespace"),
	}, mlflowAccess()...)
	return tektonv1.Step{
		Name: name, Image: m.Image, Command: []string{"/" + bflowBinary},
		Args:             append([]string{"matrix", name}, args...),
		Env:              env,
		ComputeResources: room.requirements(),
		VolumeMounts:     []corev1.VolumeMount{{Name: tmpVolume, MountPath: "/tmp"}},
		SecurityContext:  restricted(),
	}
}

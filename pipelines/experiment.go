package pipelines

import (
	"fmt"
	"maps"

	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bflowBinary is the program whose verb the one step of the experiment's Task is.
const bflowBinary = "bflow"

// Volumes of the experiment's Task.
const (
	submitVolume = "submit" // the account that submits
	gitVolume    = "git"    // credentials of git servers
)

// experimentParam is a param of the experiment's Pipeline.
type experimentParam struct{ name, value, about string }

func experimentParams() []experimentParam {
	return []experimentParam{
		{contract.ParamExperiment, "",
			"The experiment: the text of its YAML file. Leave it empty to take the file from a git repository."},
		{contract.ParamGitURL,
			"", "Git repository that holds the file, as https://host/path. Credentials come from Secret " +
				contract.SecretGit + "."},
		{contract.ParamRevision, "", "Branch, tag or commit of the repository. Empty: its default branch."},
		{contract.ParamPath, "", "The file in the repository. Several files and folders, such as one with profiles, " +
			"are separated by blanks."},
		{contract.ParamOverrides, "", "Fields that differ from the file, as PATH=VALUE, such as " +
			"load.data.output=128; several are separated by line ends or blanks. A list makes an axis."},
		{contract.ParamTrustedOnly, "false", "true: refuse a commit that is in no branch of the repository itself, " +
			"such as that of a fork's pull request."},
		{contract.ParamWait, "true",
			"true: go on until the runs end, and end as they do. false: end when they are submitted."},
		{contract.ParamLoadCPU, "",
			"Cores that a load generator asks for, such as 500m. Empty: what bootstrap has found to fit."},
		{contract.ParamBundle, "", "Bundle that holds the Tasks, as REF@sha256:.... Empty: they are made in the namespace."},
	}
}

func experimentResults() []tektonv1.TaskResult {
	return []tektonv1.TaskResult{
		{Name: contract.ResultVerdict, Type: tektonv1.ResultsTypeString, Description: "pass, fail, inconclusive or " +
			"invalid: the worst of all runs. Empty where nobody waited for it."},
		{Name: contract.ResultRuns, Type: tektonv1.ResultsTypeString, Description: "Names of the runs, by commas; " +
			"the points of an experiment that has several go by the name of their matrix."},
		{Name: contract.ResultPlanHashes, Type: tektonv1.ResultsTypeString, Description: "Hashes of their plans, in " +
			"the same order, of a matrix those of its points: equal hashes measured the same."},
	}
}

// Experiment returns the Pipeline that starts the runs of an experiment, and its Task. The Task has no params: its step
// reads those of the PipelineRun through the API, because an experiment may hold credentials, and arguments can be seen
// by everybody who sees the pod.
func Experiment(r Release) (*tektonv1.Task, *tektonv1.Pipeline, error) {
	image := r.Images[bflowBinary]
	if image == "" {
		return nil, nil, fmt.Errorf("building task %q: no image for binary %q", contract.Experiment, bflowBinary)
	}
	const display = "Run an experiment"
	meta := metav1.ObjectMeta{
		Name: contract.Experiment, Labels: catalogLabels(r.Version), Annotations: catalogAnnotations(display),
	}
	labelled := *meta.DeepCopy()
	maps.Copy(labelled.Labels, asksForToken())
	task := &tektonv1.Task{
		TypeMeta:   metav1.TypeMeta{APIVersion: "tekton.dev/v1", Kind: "Task"},
		ObjectMeta: labelled,
		Spec: tektonv1.TaskSpec{
			DisplayName: display,
			Description: "Submits the runs of the experiment that the params of its PipelineRun name, and waits for " +
				"their verdict.\n" +
				"It belongs to the Pipeline of the same name: start that one.",
			Results: experimentResults(),
			Volumes: experimentVolumes(),
			Steps:   []tektonv1.Step{experimentStep(image)},
		},
	}
	pipeline := &tektonv1.Pipeline{
		TypeMeta:   metav1.TypeMeta{APIVersion: "tekton.dev/v1", Kind: "Pipeline"},
		ObjectMeta: meta,
		Spec: tektonv1.PipelineSpec{
			DisplayName: display,
			Description: "Runs an inference benchmark: give the text of an experiment file, or say where it lies in " +
				"a git repository.\n" +
				"The runs queue for GPUs; this Pipeline waits for them and ends as they do. Cancelling it cancels them.",
			Tasks: []tektonv1.PipelineTask{{
				Name:    contract.ParamExperiment,
				TaskRef: &tektonv1.TaskRef{Name: contract.Experiment, Kind: tektonv1.NamespacedTaskKind},
				// None of its own: that of the PipelineRun holds. Without a word here the task had an hour, however long the
				// PipelineRun may take.
				Timeout: &metav1.Duration{},
			}},
		},
	}
	for _, p := range experimentParams() {
		pipeline.Spec.Params = append(pipeline.Spec.Params, tektonv1.ParamSpec{
			Name: p.name, Type: tektonv1.ParamTypeString, Description: p.about,
			Default: tektonv1.NewStructuredValues(p.value),
		})
	}
	for _, result := range task.Spec.Results {
		pipeline.Spec.Results = append(pipeline.Spec.Results,
			tektonv1.PipelineResult{Name: result.Name, Type: result.Type, Description: result.Description,
				Value: *tektonv1.NewStructuredValues(taskResult(contract.ParamExperiment, result.Name))})
	}
	return task, pipeline, nil
}

// experimentStep submits and waits. It has a megabyte for each few objects of a git repository.
func experimentStep(image string) tektonv1.Step {
	room := size{"50m", "128Mi", "1", "1Gi"}
	return tektonv1.Step{
		Name: contract.ParamExperiment, Image: image, Command: []string{"/" + bflowBinary},
		Args: []string{"experiment",
			"--verdict-result=" + resultPath(contract.ResultVerdict),
			"--runs-result=" + resultPath(contract.ResultRuns),
			"--plan-hashes-result=" + resultPath(contract.ResultPlanHashes),
			"--token-dir=" + contract.SubmitDir,
			"--git-dir=" + contract.GitDir},
		Env: []corev1.EnvVar{
			{Name: "HOME", Value: "/tmp"},
			fromPod(contract.EnvPipelineRun, "metadata.labels['tekton.dev/pipelineRun']"),
			fromPod(contract.EnvTaskRun, "metadata.labels['tekton.dev/taskRun']"),
			fromPod(contract.EnvNamespace, "metadata.namespace"),
		},
		ComputeResources: room.requirements(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: tmpVolume, MountPath: "/tmp"},
			{Name: submitVolume, MountPath: contract.SubmitDir, ReadOnly: true},
			{Name: gitVolume, MountPath: contract.GitDir, ReadOnly: true},
		},
		SecurityContext: restricted(),
	}
}

// experimentVolumes are a folder to write into, the token, and credentials of git servers: without those the step reads
// public repositories.
func experimentVolumes() []corev1.Volume {
	return append(submitVolumes(), corev1.Volume{Name: gitVolume, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: contract.SecretGit, Optional: yes()},
	}})
}

// asksForToken are the labels of a Task whose steps mount submitVolume: Tekton gives them to its TaskRuns, and the
// controller gives those a token.
func asksForToken() map[string]string {
	return map[string]string{contract.LabelToken: contract.TokenSubmit}
}

// submitVolumes are a folder to write into, and the token of the account that submits. The pod waits for it: the Secret
// is not optional, nor is its key. A token is bound to a pod only where the pod runs as that very account.
func submitVolumes() []corev1.Volume {
	token := corev1.SecretProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: contract.SubmitSecret("$(context.taskRun.name)")},
		Items:                []corev1.KeyToPath{{Key: contract.KeyToken, Path: contract.KeyToken}},
	}
	authority := corev1.ConfigMapProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: contract.ConfigMapRootCA},
		Items:                []corev1.KeyToPath{{Key: contract.KeyCA, Path: contract.KeyCA}},
	}
	return []corev1.Volume{
		{Name: tmpVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: submitVolume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{Secret: &token}, {ConfigMap: &authority}},
		}}},
	}
}

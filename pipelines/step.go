package pipelines

import (
	"cmp"
	"slices"

	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
)

const (
	tmpVolume    = "tmp"    // gives a step its only writable folder besides workspaces and results
	targetVolume = "target" // the credentials that the controller made for the run
	// metricsVolume holds the token that the controller made for the Prometheus of the run
	metricsVolume = "metrics"
)

// stepPart is a step before the parts that follow from them.
type stepPart struct {
	name    string
	binary  string
	sub     string          // subcommand in front of the common flags, "" for none
	args    []string        // after the common flags
	env     []corev1.EnvVar // besides those of shared
	target  bool            // deploys on the target, or removes there
	secrets bool            // it needs values of the Secrets that the plan refers to
	goOn    bool            // the next step runs whatever happened in this one
	away    string          // the task that it runs on the target, "" for none
	most    string          // the binary whose limits it has, because it may do the work of that; "" for its own

	metrics bool // asks Prometheus
}

// shared is what all steps have, said once because Tekton bounds the size of what it resolves.
func shared() *tektonv1.StepTemplate {
	return &tektonv1.StepTemplate{
		Env:             []corev1.EnvVar{{Name: "HOME", Value: "/tmp"}},
		VolumeMounts:    []corev1.VolumeMount{{Name: tmpVolume, MountPath: "/tmp"}},
		SecurityContext: restricted(),
	}
}

// step completes p. It always names a command: without one Tekton asks the registry for the image's entrypoint,
// which fails without a network.
func step(p stepPart, image string) tektonv1.Step {
	s := tektonv1.Step{
		Name:             p.name,
		Image:            image,
		Command:          []string{"/" + p.binary},
		Args:             p.arguments(),
		Env:              slices.Clone(p.env),
		ComputeResources: p.size().requirements(),
	}
	if p.goOn {
		s.OnError = tektonv1.Continue
	}
	if p.binary == contract.Provision {
		s.Env = append(s.Env, aboutRun()...)
	}
	if p.away != "" {
		s.Env = append(s.Env, fromPod(contract.EnvTaskRun, "metadata.labels['tekton.dev/taskRun']"))
	}
	if p.metrics {
		s.VolumeMounts = append(s.VolumeMounts, corev1.VolumeMount{
			Name: metricsVolume, MountPath: contract.MetricsDir, ReadOnly: true,
		})
	}
	if p.target {
		s.VolumeMounts = append(s.VolumeMounts, corev1.VolumeMount{
			Name: targetVolume, MountPath: contract.TargetDir, ReadOnly: true,
		})
	}
	return s
}

func (p stepPart) size() size {
	own, most := sizeOf(p.binary), sizeOf(cmp.Or(p.most, p.binary))
	return size{own.cpu, own.memory, most.maxCPU, most.maxMemory}
}

func (p stepPart) arguments() []string {
	var args []string
	if p.sub != "" {
		args = append(args, p.sub)
	}
	args = append(args,
		"--plan-dir="+workspacePath(contract.WorkspacePlan),
		"--run-dir="+workspacePath(contract.WorkspaceRun),
		"--run-id="+paramRef(contract.ParamRunID),
		"--attempt="+paramRef(contract.ParamAttempt))
	if p.metrics {
		args = append(args, "--metrics-dir="+contract.MetricsDir)
	}
	if p.target {
		args = append(args, "--target-dir="+contract.TargetDir, "--target-workspace="+workspacePath(contract.WorkspaceTarget))
	}
	if p.secrets {
		args = append(args, "--secrets-dir="+workspacePath(contract.WorkspaceSecrets))
	}
	return append(args, p.args...)
}

// aboutRun tells a step that makes objects whose they are. All of it comes from its own pod: Tekton copies the labels
// and annotations of a PipelineRun there.
func aboutRun() []corev1.EnvVar {
	return []corev1.EnvVar{
		fromPod(contract.EnvPipelineRun, "metadata.labels['tekton.dev/pipelineRun']"),
		fromPod(contract.EnvPipelineRunUID, "metadata.labels['tekton.dev/pipelineRunUID']"),
		fromPod(contract.EnvNamespace, "metadata.namespace"),
		whereItRuns(),
		fromPod(contract.EnvRequests, "metadata.annotations['"+contract.AnnotationRequests+"']"),
		fromPod(contract.EnvFence, "metadata.annotations['"+contract.AnnotationFence+"']"),
		{Name: contract.EnvHub, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: contract.ConfigMapHub},
			Key:                  contract.HubKey, Optional: yes(),
		}}},
	}
}

// whereItRuns is the target that the controller has chosen, for a plan that leaves it open.
func whereItRuns() corev1.EnvVar {
	return fromPod(contract.EnvTarget, "metadata.labels['"+contract.LabelTarget+"']")
}

func yes() *bool {
	v := true
	return &v
}

// fromPod reads one variable from the pod of the step.
func fromPod(name, path string) corev1.EnvVar {
	return corev1.EnvVar{
		Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}},
	}
}

// restricted is the strictest level of Pod Security. It names no user, because OpenShift assigns one.
func restricted() *corev1.SecurityContext {
	no := false
	return &corev1.SecurityContext{
		RunAsNonRoot:             yes(),
		AllowPrivilegeEscalation: &no,
		ReadOnlyRootFilesystem:   yes(),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// fromSecret reads one variable from a Secret, and leaves it unset where the Secret or the key is missing.
func fromSecret(name, secret, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key, Optional: yes(),
	}}}
}

// apiKey is the key of the server under test; which Secret holds it is a param, so that one Task serves all plans.
func apiKey() []corev1.EnvVar {
	return []corev1.EnvVar{
		fromSecret(contract.EnvAPIKey, paramRef(contract.ParamAPIKeySecret), paramRef(contract.ParamAPIKeyKey)),
	}
}

// mlflowAccess is the tracking server, how it is reached and its credentials.
func mlflowAccess() []corev1.EnvVar {
	names := []string{
		contract.EnvMLflowURI, contract.EnvMLflowToken, contract.EnvMLflowUsername, contract.EnvMLflowPassword,
		contract.EnvMLflowWorkspace, contract.EnvMLflowInsecureTLS,
	}
	env := make([]corev1.EnvVar, len(names))
	for i, name := range names {
		env[i] = fromSecret(name, contract.SecretMLflow, name)
	}
	return env
}

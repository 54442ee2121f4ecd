package pipelines

import (
	"path"

	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
)

// Where the task that gathers results finds them: a folder for each run, and the volume of the matrix.
const (
	gatherFrom = "/runs"
	gatherInto = "/results"
)

// RunVolume is where the results of a run lie.
type RunVolume struct{ Run, Claim, SubPath string }

// Gather is the task that copies the results of some runs to the volume of their matrix. image is that of binary bflow.
func Gather(image, into string, from []RunVolume) *tektonv1.TaskSpec {
	room := size{"50m", "128Mi", "2", "1Gi"}
	step := tektonv1.Step{
		Name: contract.RoleGather, Image: image, Command: []string{"/" + bflowBinary},
		Args: []string{"matrix", contract.RoleGather, "--from=" + gatherFrom, "--into=" + gatherInto,
			"--gathered-result=" + resultPath(contract.ResultGathered)},
		Env:              []corev1.EnvVar{{Name: "HOME", Value: "/tmp"}},
		ComputeResources: room.requirements(),
		SecurityContext:  restricted(),
		VolumeMounts:     []corev1.VolumeMount{{Name: contract.RoleGather, MountPath: gatherInto}},
	}
	// the mount is read-only where it has to be: a read-only claim needs a class that can
	claim := func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
	}
	volumes := []corev1.Volume{{Name: contract.RoleGather, VolumeSource: claim(into)}}
	for _, v := range from {
		volumes = append(volumes, corev1.Volume{Name: v.Claim, VolumeSource: claim(v.Claim)})
		step.VolumeMounts = append(step.VolumeMounts, corev1.VolumeMount{
			Name: v.Claim, MountPath: path.Join(gatherFrom, v.Run), SubPath: v.SubPath, ReadOnly: true,
		})
	}
	return &tektonv1.TaskSpec{
		DisplayName: "Gather",
		Description: "Copies the results of runs that have ended to the volume of their matrix.",
		Results: []tektonv1.TaskResult{{Name: contract.ResultGathered, Type: tektonv1.ResultsTypeString,
			Description: "The runs whose results are there, by commas."}},
		Volumes: volumes,
		Steps:   []tektonv1.Step{step},
	}
}

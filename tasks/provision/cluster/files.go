package cluster

import (
	"fmt"
	"path"

	"bflow.dev/bflow/runplan"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// filesVolume is the volume of the files that the program of an engine reads.
const filesVolume = "engine-files"

// filesName is the ConfigMap that holds them.
func filesName(release string) string { return release + "-files" }

func fileKey(i int, at string) string { return fmt.Sprintf("%d-%s", i, path.Base(at)) }

// files holds the files of the program of a release, nil where there are none. Its owner, the Service of the release,
// is known once that is made.
func (d *renderer) files() *corev1.ConfigMap {
	if len(d.program.Files) == 0 {
		return nil
	}
	yes := true
	cm := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: d.meta(filesName(d.release)), Immutable: &yes, Data: map[string]string{}}
	for i, f := range d.program.Files {
		cm.Data[fileKey(i, f.Path)] = f.Text
	}
	return cm
}

// mountFiles mounts each file at its path. The folder around it stays as the image has it: a program that takes every
// folder there for its own would meet those through which a whole ConfigMap is updated.
func (d *renderer) mountFiles(v *volumes) error {
	if len(d.program.Files) == 0 {
		return nil
	}
	v.volumes = append(v.volumes, corev1.Volume{Name: filesVolume, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{
			Name: filesName(d.release)}}}})
	for i, f := range d.program.Files {
		if len(runplan.References(f.Text)) > 0 {
			return fmt.Errorf("deploying %q: file %s of engine %s would hold a credential, which everybody who may read "+
				"ConfigMaps could see; pass it as a variable in runtime.env", d.plan.Name, f.Path, d.program.kind.Kind)
		}
		v.mounts = append(v.mounts, corev1.VolumeMount{Name: filesVolume, MountPath: f.Path, SubPath: fileKey(i, f.Path),
			ReadOnly: true})
	}
	return nil
}

package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// modelVolume holds the model files.
const modelVolume = "model-storage"

// volumes are the folders of the engine: one to write into, shared memory, the model, and what the file mounts.
func (d *renderer) volumes() ([]corev1.Volume, []corev1.VolumeMount, error) {
	v := &volumes{}
	v.add("tmp", "/tmp", false, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	if d.set.SharedMemorySize != "" {
		size, err := quantity("shared_memory_size", "", d.set.SharedMemorySize)
		if err != nil {
			return nil, nil, err
		}
		v.add("dshm", "/dev/shm", false, corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &size}})
	}
	if s := d.plan.Deployment.ModelStorage; s != nil {
		v.add(modelVolume, s.MountPath, true, corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: s.PVCName}})
	}
	for _, h := range d.set.HostPaths {
		kind := corev1.HostPathType(h.Type)
		v.add(h.Name, h.MountPath, h.ReadOnly, corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: h.HostPath, Type: &kind}})
	}
	for _, m := range d.set.PVCMounts {
		v.add(m.Name, m.MountPath, m.ReadOnly, corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: m.ClaimName, ReadOnly: m.ReadOnly}})
	}
	err := d.mountFiles(v)
	return v.volumes, v.mounts, err
}

type volumes struct {
	volumes []corev1.Volume
	mounts  []corev1.VolumeMount
}

func (v *volumes) add(name, path string, readOnly bool, source corev1.VolumeSource) {
	v.volumes = append(v.volumes, corev1.Volume{Name: name, VolumeSource: source})
	v.mounts = append(v.mounts, corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: readOnly})
}

// download fetches the model files before the engine starts, by the library that the images of these engines bring.
// Files that are there already are only compared.
func (d *renderer) download(requirements corev1.ResourceRequirements) []corev1.Container {
	dep := &d.plan.Deployment
	if !d.plan.Execution.Phases.Download || dep.ModelStorage == nil || d.program.kind.Downloader == nil {
		return nil
	}
	return []corev1.Container{{
		Name: "download", Image: d.program.image, Command: d.program.kind.Downloader,
		Args: []string{dep.Model.Name, dep.Model.Revision, dep.ModelPath()}, Env: d.environment(),
		Resources: withoutDevices(requirements),
		VolumeMounts: []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"},
			{Name: modelVolume, MountPath: dep.ModelStorage.MountPath}},
		SecurityContext: platform.Restricted(),
	}}
}

// requirements are what the file asks for, and the devices of the deployment.
func (d *renderer) requirements() (corev1.ResourceRequirements, error) {
	requests, limits := map[string]string{}, map[string]string{}
	if d.program.kind.Light {
		requests["cpu"], requests["memory"], limits["memory"] = "100m", "64Mi", "1Gi"
	}
	maps.Copy(requests, d.set.Resources.Requests)
	maps.Copy(limits, d.set.Resources.Limits)
	for _, name := range d.set.Resources.RemoveRequests {
		delete(requests, name)
	}
	for _, name := range d.set.Resources.RemoveLimits {
		delete(limits, name)
	}
	devices, err := runplan.Devices(&d.plan.Deployment)
	if err != nil {
		return corev1.ResourceRequirements{}, err
	}
	for _, list := range []map[string]string{requests, limits} { // of a device, the one is the other
		maps.DeleteFunc(list, func(name, _ string) bool { return runplan.IsDevice(name) })
		for name, n := range devices {
			list[name] = strconv.Itoa(n)
		}
	}
	out := corev1.ResourceRequirements{}
	if out.Requests, err = amounts("requests", requests); err == nil {
		out.Limits, err = amounts("limits", limits)
	}
	return out, err
}

func withoutDevices(r corev1.ResourceRequirements) corev1.ResourceRequirements {
	r = *r.DeepCopy()
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		maps.DeleteFunc(list, func(name corev1.ResourceName, _ resource.Quantity) bool {
			return runplan.IsDevice(string(name))
		})
	}
	return r
}

func amounts(field string, list map[string]string) (corev1.ResourceList, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := corev1.ResourceList{}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q, err := quantity("resources."+field, name, list[name])
		if err != nil {
			return nil, err
		}
		out[corev1.ResourceName(name)] = q
	}
	return out, nil
}

func quantity(field, name, text string) (resource.Quantity, error) {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return q, fmt.Errorf("reading runtime.%s: %s is %q: %w", field, name, text, err)
	}
	return q, nil
}

package platform

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const nameKubernetes = "kubernetes"

// kubernetes is a Deployment behind a Service, with the claims that the file says to create.
func kubernetes() Platform {
	return Platform{
		Name: nameKubernetes, About: "model servers as a Deployment behind a Service",
		Modes:     []Mode{{Name: "plain", Plan: Variant{nameRHAIIS, modeRHAIIS}}},
		AnyEngine: true,
		Identity:  clearVersion,
		Kinds:     []string{"Deployment", "Service", "PersistentVolumeClaim"},
		Objects:   plainObjects,
		Ready:     DeploymentsReady,
	}
}

// plainObjects are the claims, the Service and the Deployment of a release.
func plainObjects(r Release) ([]runtime.Object, error) {
	objects, err := r.Claims()
	return append(objects, r.Service(), r.Deployment()), err
}

// Service is the one through which all pods of a release are asked.
func (r Release) Service() *corev1.Service {
	d := &r.Plan.Deployment
	ports := []corev1.ServicePort{{Name: PortName, Port: int32(Port(d)), TargetPort: intstr.FromString(PortName)}}
	if n := d.Engine.MetricsPort; n != 0 {
		ports = append(ports, corev1.ServicePort{
			Name: MetricsPortName, Port: int32(n), TargetPort: intstr.FromString(MetricsPortName),
		})
	}
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: r.Meta(ServiceName(r.Name)),
		Spec: corev1.ServiceSpec{Selector: r.Selector, Ports: ports},
	}
}

// Deployment runs the model servers of a release. It is recreated as a whole where it is changed at all: a rolling
// update would need its GPUs twice.
func (r Release) Deployment() *appsv1.Deployment {
	d := &r.Plan.Deployment
	count, history := int32(replicas(d)), int32(0)
	progress := int32(max(10*time.Minute, r.Plan.Timeouts.Ready.D()+time.Minute).Seconds())
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: r.Meta(r.Name + "-" + d.Engine.Kind),
		Spec: appsv1.DeploymentSpec{
			Replicas: &count, RevisionHistoryLimit: &history, ProgressDeadlineSeconds: &progress,
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: r.Selector},
			Template: r.Pod,
		},
	}
}

// Claims are those that the file says to create for the run.
func (r Release) Claims() ([]runtime.Object, error) {
	var out []runtime.Object
	for _, m := range r.Runtime.PVCMounts {
		if !m.Create {
			continue
		}
		size, err := resource.ParseQuantity(m.Size)
		if err != nil {
			return nil, fmt.Errorf("reading runtime.pvc_mounts: %s is %q: %w", m.Name, m.Size, err)
		}
		requests := corev1.ResourceList{corev1.ResourceStorage: size}
		claim := &corev1.PersistentVolumeClaim{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
			ObjectMeta: r.Meta(m.ClaimName),
			Spec:       corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: requests}},
		}
		for _, mode := range m.AccessModes {
			claim.Spec.AccessModes = append(claim.Spec.AccessModes, corev1.PersistentVolumeAccessMode(mode))
		}
		if m.StorageClass != "" {
			claim.Spec.StorageClassName = &m.StorageClass
		}
		out = append(out, claim)
	}
	return out, nil
}

// DeploymentsReady reports whether there is a Deployment, and every pod of each can be asked.
func DeploymentsReady(workloads []*unstructured.Unstructured) bool {
	for _, object := range workloads {
		d := &appsv1.Deployment{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, d) != nil || !deploymentReady(d) {
			return false
		}
	}
	return len(workloads) > 0
}

func deploymentReady(d *appsv1.Deployment) bool {
	if d.Spec.Replicas == nil || d.Status.ObservedGeneration < d.Generation {
		return false
	}
	n := *d.Spec.Replicas
	return d.Status.AvailableReplicas == n && d.Status.UpdatedReplicas == n && d.Status.Replicas == n
}

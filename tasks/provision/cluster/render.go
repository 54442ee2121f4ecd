package cluster

import (
	"fmt"
	"time"

	"bflow.dev/bflow/runplan"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rendering is what a rendering depends on besides the plan and the run.
type Rendering struct {
	Namespace string
	SimImage  string            // of the simulated engine, where the plan names none
	OpenShift bool              // the platform assigns users, so none is named
	Part      map[string]string // labels of the nodes that are the target, nil for all
	// Secrets are the values that SecretsOf names, for a cluster where the Secrets of the run are not; nil where they are.
	Secrets map[runplan.SecretKey]string
}

// Objects returns what a plan is deployed as, in the order in which it is made: claims, the Service, a Secret, the Deployment.
// It depends on its arguments alone.
func Objects(plan *runplan.RunPlan, run Run, r Rendering) ([]runtime.Object, error) {
	set, err := settingsOf(plan)
	if err != nil {
		return nil, err
	}
	d := renderer{plan: plan, run: run, Rendering: r, set: set, release: runplan.Release(plan, run.ID)}
	if d.labels = run.labels(plan, d.release); plan.Deployment.Engine.Kind == "" {
		return nil, fmt.Errorf("deploying %q: the plan names no engine", plan.Name)
	}
	if d.program, err = programOf(plan, r.SimImage); err != nil {
		return nil, err
	}
	if d.keys, err = SecretsOf(plan); err != nil {
		return nil, err
	}
	template, err := d.template()
	if err != nil {
		return nil, err
	}
	objects, err := d.claims()
	objects = append(objects, d.service())
	if secret := d.secret(); secret != nil && len(d.keys) > 0 {
		objects = append(objects, secret)
	}
	return append(objects, d.deployment(template)), err
}

// renderer makes the objects of one release.
type renderer struct {
	Rendering
	plan    *runplan.RunPlan
	run     Run
	set     settings
	release string
	labels  map[string]string
	program program
	keys    []runplan.SecretKey // whose values its pods need
}

// ServiceName is the name of the Service of a release. Such a name starts with a letter.
func ServiceName(release string) string {
	if release[0] >= '0' && release[0] <= '9' {
		return "s-" + release
	}
	return release
}

func (d *renderer) meta(name string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: name, Namespace: d.Namespace, Labels: d.labels}
	if d.run.Owner != nil {
		m.OwnerReferences = []metav1.OwnerReference{*d.run.Owner}
	}
	return m
}

func (d *renderer) service() *corev1.Service {
	ports := []corev1.ServicePort{{Name: portName, Port: int32(port(&d.plan.Deployment)), TargetPort: intstr.FromString(portName)}}
	if n := d.plan.Deployment.Engine.MetricsPort; n != 0 {
		ports = append(ports, corev1.ServicePort{Name: metricsPort, Port: int32(n), TargetPort: intstr.FromString(metricsPort)})
	}
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: d.meta(ServiceName(d.release)),
		Spec: corev1.ServiceSpec{Selector: d.run.own(d.release), Ports: ports},
	}
}

// deployment is recreated as a whole where it is changed at all: a rolling update would need its GPUs twice.
func (d *renderer) deployment(template corev1.PodTemplateSpec) *appsv1.Deployment {
	replicas, history := int32(max(1, d.plan.Deployment.Replicas)), int32(0)
	progress := int32(max(10*time.Minute, d.plan.Timeouts.Ready.D()+time.Minute).Seconds())
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: d.meta(d.release + "-" + d.plan.Deployment.Engine.Kind),
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, RevisionHistoryLimit: &history, ProgressDeadlineSeconds: &progress,
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: d.run.own(d.release)},
			Template: template,
		},
	}
}

// claims are those that the file says to make for the run.
func (d *renderer) claims() ([]runtime.Object, error) {
	var out []runtime.Object
	for _, m := range d.set.PVCMounts {
		if !m.Create {
			continue
		}
		size, err := quantity("pvc_mounts", m.Name, m.Size)
		if err != nil {
			return nil, err
		}
		claim := &corev1.PersistentVolumeClaim{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, ObjectMeta: d.meta(m.ClaimName),
			Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}}},
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

package cluster

import (
	"fmt"
	"maps"
	"time"

	"bflow.dev/bflow/platform"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// engineUser runs images whose user is root, as those of most model servers do. Its group is 0, as on OpenShift,
	// because images made for any user let that group write. Ours bring a user of their own.
	engineUser = 65532
)

// template is the pod of an engine, at the level restricted of Pod Security unless the file mounts folders of the node.
func (d *renderer) template() (corev1.PodTemplateSpec, error) {
	requirements, err := d.requirements()
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	volumes, mounts, err := d.volumes()
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	engine := corev1.Container{
		Name: d.plan.Deployment.Engine.Kind, Image: d.program.image, Command: d.texts(d.program.Command),
		Args: d.texts(d.program.Args), Env: d.environment(), Ports: d.ports(), Resources: requirements,
		VolumeMounts: mounts, SecurityContext: platform.Restricted(),
	}
	d.probes(&engine)
	nodes, err := d.nodes()
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	no, grace := false, d.grace()
	pod := corev1.PodSpec{
		Containers: []corev1.Container{engine}, InitContainers: d.download(requirements), Volumes: volumes,
		ServiceAccountName: d.set.ServiceAccountName, AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
		NodeSelector: nodes, Affinity: d.set.Affinity, Tolerations: d.set.Tolerations,
		TerminationGracePeriodSeconds: &grace, SecurityContext: d.podSecurity(!d.program.kind.Light),
		ImagePullSecrets: d.pullSecrets(),
	}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: d.labels}, Spec: pod}, nil
}

// beside is the pod of a program of the release that is no engine, without its containers. It may run on each node of
// the target.
func (d *renderer) beside() corev1.PodTemplateSpec {
	no := false
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(d.labels)}, Spec: corev1.PodSpec{
		AutomountServiceAccountToken: &no, EnableServiceLinks: &no, NodeSelector: d.Part,
		SecurityContext: d.podSecurity(true), ImagePullSecrets: d.pullSecrets(),
	}}
}

func (d *renderer) pullSecrets() (names []corev1.LocalObjectReference) {
	for _, s := range d.set.ImagePullSecrets {
		names = append(names, corev1.LocalObjectReference{Name: s.Name})
	}
	return names
}

// nodes selects those of the plan among those of the target.
func (d *renderer) nodes() (map[string]string, error) {
	if len(d.Part) == 0 {
		return d.set.NodeSelector, nil
	}
	nodes := maps.Clone(d.Part)
	for key, want := range d.set.NodeSelector {
		if of, is := d.Part[key]; is && of != want {
			return nil,
				fmt.Errorf("deploying %q: its node_selector wants %s=%s, but the target consists of the nodes with %s=%s",
					d.plan.Name, key, want, key, of)
		}
		nodes[key] = want
	}
	return nodes, nil
}

// grace is how long an engine may take to end, in seconds.
func (d *renderer) grace() int64 {
	if d.program.kind.Light {
		return 5
	}
	return 30
}

func (d *renderer) ports() []corev1.ContainerPort {
	ports := []corev1.ContainerPort{{Name: platform.PortName, ContainerPort: int32(platform.Port(&d.plan.Deployment))}}
	if n := d.plan.Deployment.Engine.MetricsPort; n != 0 {
		ports = append(ports, corev1.ContainerPort{Name: platform.MetricsPortName, ContainerPort: int32(n)})
	}
	return ports
}

// probes ask the health path. Nothing kills an engine that is slow to start: the readiness budget of the plan ends the
// wait. Nothing kills one that is slow to answer either: under load that is a finding.
func (d *renderer) probes(c *corev1.Container) {
	path := d.plan.Deployment.Engine.HealthPath
	if path == "" {
		path = "/health"
	}
	get := corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(platform.PortName)}}
	if d.program.kind.Light {
		c.ReadinessProbe = &corev1.Probe{ProbeHandler: get, PeriodSeconds: 1, TimeoutSeconds: 5, FailureThreshold: 30}
		return
	}
	const period = 5
	budget := max(time.Hour, 2*d.plan.Timeouts.Ready.D())
	c.StartupProbe = &corev1.Probe{ProbeHandler: get, PeriodSeconds: period, TimeoutSeconds: 5,
		FailureThreshold: int32(budget.Seconds() / period)}
	c.ReadinessProbe = &corev1.Probe{ProbeHandler: get, PeriodSeconds: 10, TimeoutSeconds: 5, FailureThreshold: 3}
}

// podSecurity is that of a pod whose images may have any user, or bring one of their own.
func (d *renderer) podSecurity(anyUser bool) *corev1.PodSecurityContext {
	yes := true
	s := &corev1.PodSecurityContext{RunAsNonRoot: &yes,
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
	if !d.OpenShift && anyUser {
		user, group, files := int64(engineUser), int64(0), int64(engineUser)
		s.RunAsUser, s.RunAsGroup, s.FSGroup = &user, &group, &files
	}
	return s
}

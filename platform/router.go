package platform

import (
	_ "embed" // the configuration of the proxy
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"bflow.dev/bflow/runplan/contract"
)

// router is an endpoint picker with the proxy that asks it, in one pod, without a gateway. The picker finds the model
// pods by their labels.
// Source: chart standalone of sigs.k8s.io/gateway-api-inference-extension v1.5.0, with createInferencePool: false.
type router struct {
	name      string // of its objects
	picker    string // image
	proxy     string // image
	config    string // of the picker
	verbosity int
}

//go:embed envoy.yaml
var proxyConfig string

// Ports of the router. Those of the picker are its defaults. The proxy listens on one for requests, and has its state
// and metrics on the other.
const (
	routerPort        = 80 // of its Service
	proxyPort         = 8081
	proxyStatusPort   = 19001
	pickerPort        = 9002
	pickerHealthPort  = 9003
	pickerMetricsPort = 9090
)

// Keys of the ConfigMap of a router.
const (
	pickerConfigKey = "picker.yaml"
	proxyConfigKey  = "envoy.yaml"
)

// objects of a router: its Service, which owns the second, and its pod.
func (r router) objects(of Release) []runtime.Object {
	return []runtime.Object{r.service(of), r.files(of), r.deployment(of)}
}

// selector finds the pod of a router, as the selector of a release finds the model pods.
func (r router) selector(of Release) map[string]string {
	labels := maps.Clone(of.Selector)
	labels[contract.LabelRole] = contract.RoleRouter
	return labels
}

// meta is that of each of its objects.
func (r router) meta(of Release) metav1.ObjectMeta {
	m := of.Meta(r.name)
	m.Labels = maps.Clone(m.Labels)
	m.Labels[contract.LabelRole] = contract.RoleRouter
	return m
}

func (r router) service(of Release) *corev1.Service {
	port := func(name string, number, target int32) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: number, TargetPort: intstr.FromInt32(target)}
	}
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: r.meta(of),
		Spec: corev1.ServiceSpec{Selector: r.selector(of), Ports: []corev1.ServicePort{
			port(PortName, routerPort, proxyPort),
			port("http-metrics", pickerMetricsPort, pickerMetricsPort),
			port("proxy-metrics", proxyStatusPort, proxyStatusPort),
		}},
	}
}

func (r router) files(of Release) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: r.meta(of), Immutable: new(true),
		Data: map[string]string{pickerConfigKey: r.config, proxyConfigKey: proxyConfig},
	}
}

// deployment has one pod: two pickers would not know of each other which prompts each has sent where.
func (r router) deployment(of Release) *appsv1.Deployment {
	pod := *of.Beside.DeepCopy()
	pod.Labels[contract.LabelRole] = contract.RoleRouter
	pod.Spec.Containers = []corev1.Container{r.pickerContainer(of), r.proxyContainer()}
	pod.Spec.ServiceAccountName, pod.Spec.AutomountServiceAccountToken = contract.AccountPicker, new(true)
	pod.Spec.TerminationGracePeriodSeconds = new(int64(10))
	pod.Spec.Volumes = []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: r.name}}}}}
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: r.meta(of),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)), RevisionHistoryLimit: new(int32(0)),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: r.selector(of)},
			Template: pod,
		},
	}
}

func (r router) pickerContainer(of Release) corev1.Container {
	health := corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: pickerHealthPort, Service: new("inference-extension")}}
	return corev1.Container{
		Name: "epp", Image: r.picker,
		Args: []string{
			"--endpoint-selector=" + selectorText(of.Selector),
			"--endpoint-target-ports=" + strconv.Itoa(Port(&of.Plan.Deployment)),
			"--config-file=/config/" + pickerConfigKey,
			"--grpc-health-port=" + strconv.Itoa(pickerHealthPort), "--metrics-endpoint-auth=false",
			"--tracing=false", "--zap-encoder=json", "--v=" + strconv.Itoa(r.verbosity),
		},
		Env: []corev1.EnvVar{fieldVar("NAMESPACE", "metadata.namespace"), fieldVar("POD_NAME", "metadata.name")},
		Ports: []corev1.ContainerPort{{Name: "grpc", ContainerPort: pickerPort},
			{Name: "grpc-health", ContainerPort: pickerHealthPort}, {Name: MetricsPortName, ContainerPort: pickerMetricsPort}},
		LivenessProbe:  &corev1.Probe{ProbeHandler: health, InitialDelaySeconds: 5, PeriodSeconds: 10, TimeoutSeconds: 5},
		ReadinessProbe: &corev1.Probe{ProbeHandler: health, PeriodSeconds: 2, TimeoutSeconds: 2},
		Resources:      requesting("100m", "256Mi"), SecurityContext: Restricted(),
		VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/config", ReadOnly: true}},
	}
}

func (r router) proxyContainer() corev1.Container {
	return corev1.Container{
		Name: "envoy", Image: r.proxy, Command: []string{"envoy"},
		Args: []string{"-c", "/config/" + proxyConfigKey, "--concurrency", "8", "--log-level", "warn",
			"--drain-strategy", "immediate", "--drain-time-s", "60", "--disable-hot-restart"},
		Ports: []corev1.ContainerPort{{Name: PortName, ContainerPort: proxyPort},
			{Name: "proxy-metrics", ContainerPort: proxyStatusPort}},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready",
				Port: intstr.FromInt32(proxyStatusPort)}},
			PeriodSeconds: 5, TimeoutSeconds: 5,
		},
		Resources: requesting("50m", "128Mi"), SecurityContext: Restricted(),
		VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/config", ReadOnly: true}},
	}
}

// requesting is little, so that a router fits where its model servers do. It may take more.
func requesting(cpu, memory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}}
}

func fieldVar(name, field string) corev1.EnvVar {
	return corev1.EnvVar{Name: name,
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: field}}}
}

// selectorText writes labels as key=value, sorted, with commas between.
func selectorText(labels map[string]string) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, fmt.Sprintf("%s=%s", key, labels[key]))
	}
	return strings.Join(pairs, ",")
}

package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/results"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Work is a task that runs on the cluster, as a Job.
type Work struct {
	Name    string // of the Job, and of what is made beside it
	Task    string // contract.LoadGen, Smoketest or Collect: the binary, and the container
	Role    string
	Image   string
	Args    []string // after the common ones, which are those of FolderPlan and FolderRun
	Files   string   // image of the results server
	Receive bool     // it needs files before it begins
	APIKey  runplan.SecretKey
	Secrets map[runplan.SecretKey]string // values that the task may need, which lie on another cluster
	Near    string                       // name of the node that it should share, "" for any
	Hosts   map[string]string            // host -> IP
	Nodes   map[string]string

	Resources corev1.ResourceRequirements
	Room      resource.Quantity // of the run directory
	Deadline  time.Duration     // after which the Job ends, whatever it does
	Idle      time.Duration     // after which the results server ends when nobody asks for anything
}

// Names in the pod of a Job.
const (
	ContainerFiles   = "files"   // serves the run directory
	ContainerReceive = "receive" // takes the files in that the task needs, before it begins

	folderPlan  = "/var/run/bflow/plan"
	folderRun   = "/var/run/bflow/run"
	folderToken = "/var/run/bflow/token"
	folderValue = "/var/run/bflow/secrets"
	filesPort   = 8080
	keyToken    = "token"
	keyAPIKey   = "api-key"

	jobKept = time.Hour        // a Job that has ended goes by itself; whoever wants its results has asked before
	linger  = 25 * time.Second // of a pod that is to go, for what its task has left
	grace   = int64(30)        // seconds
)

// job is suspended: it starts once all that it needs lies beside it, which goes with it.
func (l *launch) job() *batchv1.Job {
	w := &l.work
	yes, no := true, false
	once, never := int32(1), int32(0)
	kept, deadline, tolerance := int32(jobKept.Seconds()), int64(w.Deadline.Seconds()), grace
	pod := corev1.PodSpec{
		Containers: []corev1.Container{w.task(l.run), w.server(ContainerFiles, "--linger="+linger.String())},
		Volumes:    w.volumes(), RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &tolerance,
		ServiceAccountName: contract.AccountLoad, AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
		NodeSelector: w.Nodes, HostAliases: aliases(w.Hosts), Affinity: w.near(),
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes,
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
	}
	if w.Receive {
		pod.InitContainers = []corev1.Container{w.server(ContainerReceive, "--receive")}
	}
	meta := l.meta()
	return &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: meta,
		Spec: batchv1.JobSpec{
			Suspend: &yes, Completions: &once, Parallelism: &once, BackoffLimit: &never, // a load is never put twice unnoticed
			TTLSecondsAfterFinished: &kept, ActiveDeadlineSeconds: &deadline,
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels}, Spec: pod},
		},
	}
}

// meta names and labels what is made for the Job, and itself.
func (l *launch) meta() metav1.ObjectMeta {
	labels, w := l.run.labels(l.plan, runplan.Release(l.plan, l.run.ID)), &l.work
	labels[contract.LabelRole], labels[contract.LabelJob] = w.Role, w.Name
	labels["app.kubernetes.io/component"] = w.Role
	return metav1.ObjectMeta{Name: w.Name, Namespace: l.cluster.Namespace, Labels: labels}
}

// task is the container of the task itself: the image and the arguments of its step on the hub.
func (w Work) task(run Run) corev1.Container {
	env := []corev1.EnvVar{{Name: "HOME", Value: "/tmp"}, w.node()}
	if w.APIKey.Name != "" {
		yes := true
		env = append(env, corev1.EnvVar{Name: contract.EnvAPIKey,
			ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: w.APIKey.Name}, Key: w.APIKey.Key, Optional: &yes}}})
	}
	args := []string{"--plan-dir=" + folderPlan, "--run-dir=" + folderRun, "--run-id=" + run.ID,
		fmt.Sprintf("--attempt=%d", run.Attempt)}
	mounts := []corev1.VolumeMount{{Name: "plan", MountPath: folderPlan, ReadOnly: true},
		{Name: "run", MountPath: folderRun}, {Name: "tmp", MountPath: "/tmp"}}
	if len(w.Secrets) > 0 {
		args = append(args, "--secrets-dir="+folderValue)
		mounts = append(mounts, corev1.VolumeMount{Name: "secrets", MountPath: folderValue, ReadOnly: true})
	}
	return corev1.Container{
		Name: w.Task, Image: w.Image, Command: []string{"/" + w.Task}, Args: append(args, w.Args...), Env: env,
		Resources: w.Resources, SecurityContext: platform.Restricted(),
		VolumeMounts: mounts,
	}
}

// server is a container of the results server.
func (w Work) server(name, mode string) corev1.Container {
	few := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"),
		corev1.ResourceMemory: resource.MustParse("64Mi")}
	return corev1.Container{
		Name: name, Image: w.Files, Command: []string{"/" + contract.Collect},
		Args: []string{results.Subcommand, "--run-dir=" + folderRun, fmt.Sprintf("--listen=:%d", filesPort),
			"--idle=" + w.Idle.String(),
			"--token-file=" + folderToken + "/" + keyToken, mode},
		Ports: []corev1.ContainerPort{{ContainerPort: filesPort}}, SecurityContext: platform.Restricted(),
		Resources: corev1.ResourceRequirements{Requests: few, Limits: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("256Mi"),
		}},
		VolumeMounts: []corev1.VolumeMount{{Name: "run", MountPath: folderRun},
			{Name: "token", MountPath: folderToken, ReadOnly: true}, {Name: "tmp", MountPath: "/tmp"}},
	}
}

func (w Work) volumes() []corev1.Volume {
	room, few := w.Room.DeepCopy(), resource.MustParse("1Gi")
	volumes := []corev1.Volume{
		{Name: "run", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &room}}},
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &few}}},
		{Name: "plan", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: w.Name}}}},
		// and nothing else that lies there
		{Name: "token", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: w.Name,
			Items: []corev1.KeyToPath{{Key: keyToken, Path: keyToken}}}}},
	}
	if items := w.items(); len(items) > 0 {
		volumes = append(volumes, corev1.Volume{Name: "secrets",
			VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
				SecretName: w.Name, Items: items}}})
	}
	return volumes
}

// items say where in the Secret of the Job a value lies, and where the task finds it.
func (w Work) items() []corev1.KeyToPath {
	var items []corev1.KeyToPath
	for _, k := range slices.SortedFunc(maps.Keys(w.Secrets),
		func(a, b runplan.SecretKey) int { return strings.Compare(a.Reference(), b.Reference()) }) {
		items = append(items, corev1.KeyToPath{Key: "secret-" + strconv.Itoa(len(items)), Path: k.Name + "/" + k.Key})
	}
	return items
}

// near prefers a node.
func (w Work) near() *corev1.Affinity {
	if w.Near == "" {
		return nil
	}
	term := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
		{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{w.Near}}}}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 100, Preference: term}}}}
}

// node tells the task on which node the load was: its own, or the one that it was to share.
func (w Work) node() corev1.EnvVar {
	if w.Near != "" {
		return corev1.EnvVar{Name: contract.EnvNode, Value: w.Near}
	}
	return corev1.EnvVar{Name: contract.EnvNode, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}
}

// aliases groups host names by address, both sorted.
func aliases(hosts map[string]string) (out []corev1.HostAlias) {
	byIP := map[string][]string{}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		byIP[hosts[host]] = append(byIP[hosts[host]], host)
	}
	for _, ip := range slices.Sorted(maps.Keys(byIP)) {
		out = append(out, corev1.HostAlias{IP: ip, Hostnames: byIP[ip]})
	}
	return out
}

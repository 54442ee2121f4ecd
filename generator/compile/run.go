package compile

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline/pod"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runnerGroup owns the files of a volume on Kubernetes, where a user that is not root could not write it otherwise.
const runnerGroup = 65532

func (c *compiler) pipelineRun(plan *runplan.RunPlan, f *flow, configMap string,
	secrets []runplan.SecretKey) *tektonv1.PipelineRun {
	run := &tektonv1.PipelineRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: "tekton.dev/v1", Kind: "PipelineRun"},
		ObjectMeta: c.runMetadata(plan),
		Spec: tektonv1.PipelineRunSpec{
			PipelineRef: c.pipelineRef(f, account(plan)),
			// The name that the server gives is the run id, so that the same YAML can be created twice.
			Params: tektonv1.Params{{Name: contract.ParamRunID,
				Value: *tektonv1.NewStructuredValues("$(context.pipelineRun.name)")}},
			Workspaces:      c.workspaces(plan, configMap, secrets),
			Timeouts:        c.timeouts(plan),
			TaskRunSpecs:    c.taskRunSpecs(plan, f.pipeline),
			TaskRunTemplate: c.taskRunTemplate(plan),
		},
	}
	if !c.NoQueue {
		run.Spec.Status = tektonv1.PipelineRunSpecStatusPending
	}
	return run
}

func (c *compiler) runMetadata(plan *runplan.RunPlan) metav1.ObjectMeta {
	requests := "{}"
	if len(plan.Queue.Requests) > 0 {
		requests = mustJSON(plan.Queue.Requests)
	}
	meta := metav1.ObjectMeta{
		GenerateName: plan.Name + "-",
		Namespace:    plan.Target.Namespace,
		Labels:       planLabels(plan),
		Annotations: map[string]string{contract.AnnotationRequests: requests, contract.AnnotationName: plan.Experiment,
			contract.AnnotationModel: plan.Deployment.Model.Name, contract.AnnotationLoad: plan.Load()},
	}
	if plan.Queue.SetupKey != "" {
		meta.Annotations[contract.AnnotationSetupKey] = plan.Queue.SetupKey
	}
	if pods := podsOf(plan); pods != "" {
		meta.Annotations[contract.AnnotationPods] = pods
	}
	if m := plan.Metrics; m != nil && strings.HasPrefix(m.PrometheusURL, "https://") && !c.NoQueue && !c.remote(plan) {
		meta.Annotations[contract.AnnotationMetrics] = m.PrometheusURL
	}
	maps.Copy(meta.Annotations, choice(plan))
	maps.Copy(meta.Annotations, lifetime(plan))
	if c.NoQueue {
		return meta
	}
	meta.Labels[contract.LabelQueue] = plan.Queue.Name
	if plan.Queue.Priority != "" {
		meta.Labels[contract.LabelPriority] = plan.Queue.Priority
	}
	return meta
}

// lifetime says how long the run and its server are kept after its end, where the experiment does.
func lifetime(plan *runplan.RunPlan) map[string]string {
	out := map[string]string{}
	if ttl := plan.Execution.TTLSeconds; ttl != nil {
		out[contract.AnnotationTTL] = strconv.FormatInt(*ttl, 10)
	}
	if d := plan.Execution.KeepFor; d > 0 {
		out[contract.AnnotationKeepServer] = d.String()
	}
	return out
}

// planLabels are on every object of a plan. The labels of run and attempt are not: only the server knows the name.
func planLabels(plan *runplan.RunPlan) map[string]string {
	labels := maps.Clone(plan.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[contract.LabelManagedBy] = contract.ManagedBy
	labels[contract.LabelExperiment] = experimentLabel(plan.Experiment)
	labels[contract.LabelPlanHash] = labelValue(plan.Hash)
	labels[contract.LabelTarget] = labelValue(plan.Target.Name)
	if len(plan.Axes) > 0 {
		labels[contract.LabelPoint] = strconv.Itoa(plan.Index)
	}
	return labels
}

// experimentLabel is the name as written where a label can hold it, else as a run's name would begin.
func experimentLabel(name string) string {
	if name == labelValue(name) {
		return name
	}
	return labelValue(runplan.Base(name))
}

func (c *compiler) workspaces(plan *runplan.RunPlan, configMap string,
	secrets []runplan.SecretKey) []tektonv1.WorkspaceBinding {
	optional := true // where somebody deletes it, no pod would start any more: not even those that tear down
	ws := []tektonv1.WorkspaceBinding{
		{Name: contract.WorkspacePlan, ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, Optional: &optional,
		}},
		c.runWorkspace(plan),
	}
	if secret := plan.Target.KubeconfigSecret; secret != "" && c.NoQueue { // else the controller hands it over
		ws = append(ws, tektonv1.WorkspaceBinding{Name: contract.WorkspaceTarget,
			Secret: &corev1.SecretVolumeSource{SecretName: secret}})
	}
	if len(secrets) > 0 {
		ws = append(ws, tektonv1.WorkspaceBinding{Name: contract.WorkspaceSecrets,
			Projected: &corev1.ProjectedVolumeSource{Sources: projections(secrets)}})
	}
	return ws
}

// projections are one source per Secret, its keys below its name. A Secret that is missing keeps no pod from starting,
// not even those that tear down: whoever needs its value says that there is none.
func projections(secrets []runplan.SecretKey) []corev1.VolumeProjection {
	var sources []corev1.VolumeProjection
	for _, k := range secrets { // sorted by name
		if n := len(sources); n == 0 || sources[n-1].Secret.Name != k.Name {
			optional := true
			sources = append(sources, corev1.VolumeProjection{Secret: &corev1.SecretProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: k.Name}, Optional: &optional}})
		}
		items := &sources[len(sources)-1].Secret.Items
		*items = append(*items, corev1.KeyToPath{Key: k.Key, Path: k.Name + "/" + k.Key})
	}
	return sources
}

// runWorkspace is a volume of the run's own, or its own folder on a shared one.
func (c *compiler) runWorkspace(plan *runplan.RunPlan) tektonv1.WorkspaceBinding {
	if c.ResultsClaim != "" {
		return tektonv1.WorkspaceBinding{
			Name:                  contract.WorkspaceRun,
			SubPath:               "$(context.pipelineRun.name)",
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.ResultsClaim},
		}
	}
	return tektonv1.WorkspaceBinding{Name: contract.WorkspaceRun, VolumeClaimTemplate: &corev1.PersistentVolumeClaim{
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: *volumeOf(plan)}},
		},
	}}
}

// timeouts are those of the plan. A remote target may be out of reach for a while, once in a run.
func (c *compiler) timeouts(plan *runplan.RunPlan) *tektonv1.TimeoutFields {
	more := runplan.Duration(0)
	if c.remote(plan) {
		more = runplan.Duration(runplan.Outage)
	}
	return &tektonv1.TimeoutFields{
		Pipeline: duration(plan.Timeouts.Pipeline + more), Tasks: duration(plan.Timeouts.Tasks + more),
		Finally: duration(plan.Timeouts.Finally),
	}
}

// taskRunSpecs hold timeouts here and not in the Pipeline, so that plans which differ in length share one. Task finish
// has none: timeouts.finally bounds it.
func (c *compiler) taskRunSpecs(plan *runplan.RunPlan, pipeline *tektonv1.Pipeline) []tektonv1.PipelineTaskRunSpec {
	var specs []tektonv1.PipelineTaskRunSpec
	for _, task := range pipeline.Spec.Tasks {
		spec := tektonv1.PipelineTaskRunSpec{PipelineTaskName: task.Name}
		if d, ok := plan.Timeouts.Task[task.Name]; ok {
			spec.Timeout = duration(d)
		}
		if spec.Timeout != nil && c.remote(plan) {
			spec.Timeout.Duration += runplan.Outage
		}
		if c.LoadCPU != "" && !c.remote(plan) && strings.HasPrefix(task.Name, contract.LoadGen+"-") {
			spec.StepSpecs = []tektonv1.TaskRunStepSpec{{Name: contract.LoadGen,
				ComputeResources: pipelines.LoadSize(resource.MustParse(c.LoadCPU))}}
		}
		if spec.Timeout != nil || spec.StepSpecs != nil {
			specs = append(specs, spec)
		}
	}
	return specs
}

// account is who runs the tasks of plan.
func account(plan *runplan.RunPlan) string {
	if plan.Target.ServiceAccount != "" {
		return plan.Target.ServiceAccount
	}
	return contract.AccountRunner
}

func (c *compiler) taskRunTemplate(plan *runplan.RunPlan) tektonv1.PipelineTaskRunTemplate {
	t := tektonv1.PipelineTaskRunTemplate{ServiceAccountName: account(plan)}
	var p pod.Template
	if c.Platform == Kubernetes {
		group, onMismatch := int64(runnerGroup), corev1.FSGroupChangeOnRootMismatch
		p.SecurityContext = &corev1.PodSecurityContext{FSGroup: &group, FSGroupChangePolicy: &onMismatch}
	}
	p.HostAliases, p.NodeSelector = hostAliases(plan.Target.HostAliases), c.NodeSelector
	if p.SecurityContext != nil || p.HostAliases != nil || len(p.NodeSelector) > 0 {
		t.PodTemplate = &p
	}
	return t
}

// hostAliases groups host names by address, both sorted.
func hostAliases(hosts map[string]string) []corev1.HostAlias {
	byIP := map[string][]string{}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		byIP[hosts[host]] = append(byIP[hosts[host]], host)
	}
	var aliases []corev1.HostAlias
	for _, ip := range slices.Sorted(maps.Keys(byIP)) {
		aliases = append(aliases, corev1.HostAlias{IP: ip, Hostnames: byIP[ip]})
	}
	return aliases
}

func duration(d runplan.Duration) *metav1.Duration { return &metav1.Duration{Duration: d.D()} }

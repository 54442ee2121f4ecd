package pipelines

import (
	"fmt"
	"slices"

	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// minTekton is the oldest Tekton Pipelines that the objects are made for: the version they are checked against.
const minTekton = "1.13.0"

// Release is what the Tasks of one bflow version have in common.
type Release struct {
	Version string            // of bflow, a valid label value
	Images  map[string]string // task binary -> image reference; and of sim-engine, for plans that name none
}

// part is a Task before the parts that all Tasks share.
type part struct {
	name    string
	as      string // name of its pipeline task, where that is another
	display string
	about   string // one sentence, shown by catalogs
	resume  string // value of contract.AnnotationResume, "" for none
	params  []string
	results []string
	secrets bool // it needs values of the Secrets that the plan refers to
	steps   []stepPart
}

// Tasks returns every Task, in the order of a run: the content of a bundle. Names are those of package contract,
// and FinishKeep. A missing image is an error.
func Tasks(r Release) ([]*tektonv1.Task, error) {
	all := parts()
	tasks := make([]*tektonv1.Task, len(all))
	for i, p := range all {
		t, err := p.task(r)
		if err != nil {
			return nil, err
		}
		tasks[i] = t
	}
	return tasks, nil
}

func (p part) task(r Release) (*tektonv1.Task, error) {
	t := &tektonv1.Task{
		TypeMeta:   metav1.TypeMeta{APIVersion: "tekton.dev/v1", Kind: "Task"},
		ObjectMeta: p.metadata(r.Version),
		Spec: tektonv1.TaskSpec{
			DisplayName: p.display,
			Description: p.about,
			Params:      paramSpecs(append([]string{contract.ParamRunID, contract.ParamAttempt}, p.params...)),
			Results:     resultSpecs(p.results),
			Workspaces:  p.workspaces(),
			Volumes:     p.volumes(),

			StepTemplate: shared(),
		},
	}
	for _, s := range p.steps {
		image := r.Images[s.binary]
		if image == "" {
			return nil, fmt.Errorf("building task %q: no image for binary %q", p.name, s.binary)
		}
		s, err := s.withImages(p.name, r)
		if err != nil {
			return nil, err
		}
		s.secrets = p.secrets
		made := step(s, image)
		if sim := r.Images[contract.SimEngine]; sim != "" && s.sub == "up" {
			made.Env = append(made.Env, corev1.EnvVar{Name: contract.EnvSimImage, Value: sim})
		}
		t.Spec.Steps = append(t.Spec.Steps, made)
	}
	return t, nil
}

// target says whether a step talks to the API server of the target.
func (p part) target() bool {
	return slices.ContainsFunc(p.steps, func(s stepPart) bool { return s.target })
}

// volumes are a folder to write into, and the credentials of the target. Those are no workspace: a workspace names its
// Secret before the run has a name. Without the Secret the target is the cluster of the run. A step that asks
// Prometheus has a token for it, where an administrator has listed the server.
func (p part) volumes() []corev1.Volume {
	v := []corev1.Volume{{Name: tmpVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	if p.target() {
		v = append(v, corev1.Volume{Name: targetVolume, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: contract.TargetSecret(paramRef(contract.ParamRunID)),
				Optional: yes()},
		}})
	}
	if slices.ContainsFunc(p.steps, func(s stepPart) bool { return s.metrics }) {
		v = append(v, corev1.Volume{Name: metricsVolume, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: contract.MetricsSecret(paramRef(contract.ParamRunID)),
				Optional: yes()},
		}})
	}
	return v
}

func (p part) metadata(version string) metav1.ObjectMeta {
	annotations := catalogAnnotations(p.display)
	if p.resume != "" {
		annotations[contract.AnnotationResume] = p.resume
	}
	return metav1.ObjectMeta{Name: p.name, Labels: catalogLabels(version), Annotations: annotations}
}

func catalogLabels(version string) map[string]string {
	return map[string]string{"app.kubernetes.io/version": version, contract.LabelManagedBy: contract.ManagedBy}
}

func catalogAnnotations(display string) map[string]string {
	return map[string]string{
		"tekton.dev/pipelines.minVersion": minTekton,
		"tekton.dev/categories":           "Benchmark, Machine Learning",
		"tekton.dev/tags":                 "benchmark, inference, llm",
		"tekton.dev/displayName":          display,
		"tekton.dev/platforms":            "linux/amd64,linux/arm64",
	}
}

func (p part) workspaces() []tektonv1.WorkspaceDeclaration {
	ws := []tektonv1.WorkspaceDeclaration{
		{Name: contract.WorkspacePlan, ReadOnly: true, Description: workspaceAbout(contract.WorkspacePlan)},
		{Name: contract.WorkspaceRun, Description: workspaceAbout(contract.WorkspaceRun)},
	}
	if p.target() {
		ws = append(ws, tektonv1.WorkspaceDeclaration{
			Name: contract.WorkspaceTarget, ReadOnly: true, Optional: true,
			Description: workspaceAbout(contract.WorkspaceTarget),
		})
	}
	if p.secrets {
		ws = append(ws, tektonv1.WorkspaceDeclaration{
			Name: contract.WorkspaceSecrets, ReadOnly: true, Optional: true,
			Description: workspaceAbout(contract.WorkspaceSecrets),
		})
	}
	return ws
}

package fetch

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// place is where the results of a run lie and what a pod that reads them needs.
type place struct {
	run      string
	owner    *tektonv1.PipelineRun
	claim    string
	subPath  string
	image    string
	attempts int
}

// labelPipelineRun is Tekton's, on the TaskRuns of a PipelineRun.
const labelPipelineRun = "tekton.dev/pipelineRun"

// locate finds the volume of the latest attempt that has one. image "" stands for that of the run.
func (c *client) locate(ctx context.Context, namespace, run, image string) (*place, error) {
	attempts, err := c.attempts(ctx, namespace, run)
	if err != nil {
		return nil, err
	}
	for i := range attempts {
		pr := &attempts[i]
		taskRuns, err := kube.List[tektonv1.TaskRun](ctx, c.api, kube.Tekton("taskruns", namespace, ""),
			kube.Labels(labelPipelineRun+"="+pr.Name))
		if err != nil {
			return nil, err
		}
		p := &place{run: run, owner: pr, image: image, attempts: len(attempts)}
		if !p.gathered(pr) && !p.volume(taskRuns) {
			continue
		}
		if p.image == "" {
			p.image, err = c.image(ctx, pr, taskRuns)
		}
		return p, err
	}
	return nil, errors.New("no task of it has started yet, so there is nothing to fetch")
}

// attempts are the PipelineRuns of a run, the latest first.
func (c *client) attempts(ctx context.Context, namespace, run string) ([]tektonv1.PipelineRun, error) {
	all, err := kube.List[tektonv1.PipelineRun](ctx, c.api, kube.Tekton("pipelineruns", namespace, ""),
		kube.Labels(contract.LabelRun+"="+run))
	if err != nil {
		return nil, err
	}
	if len(all) == 0 { // a run without a queue has no such label
		one, err := kube.Get[tektonv1.PipelineRun](ctx, c.api, kube.Tekton("pipelineruns", namespace, run))
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("there is no such run in namespace %q", namespace)
		}
		if err != nil {
			return nil, err
		}
		return []tektonv1.PipelineRun{*one}, nil
	}
	slices.SortStableFunc(all, func(a, b tektonv1.PipelineRun) int { return cmp.Compare(attempt(&b), attempt(&a)) })
	return all, nil
}

func attempt(pr *tektonv1.PipelineRun) int {
	n, err := strconv.Atoi(pr.Labels[contract.LabelAttempt])
	if err != nil {
		return 1
	}
	return n
}

// gathered takes the volume from a run of a matrix whose results were copied to that of the matrix.
func (p *place) gathered(pr *tektonv1.PipelineRun) bool {
	var there bool
	p.claim, p.subPath, there = strings.Cut(pr.Annotations[contract.AnnotationResults], "/")
	return there
}

// volume takes the volume from a TaskRun: only there has Tekton filled in the name of the claim it made.
func (p *place) volume(taskRuns []tektonv1.TaskRun) bool {
	for i := range taskRuns {
		for _, w := range taskRuns[i].Spec.Workspaces {
			if w.Name == contract.WorkspaceRun && w.PersistentVolumeClaim != nil {
				p.claim, p.subPath = w.PersistentVolumeClaim.ClaimName, w.SubPath
				return true
			}
		}
	}
	return false
}

// image is that of task collect: as it ran, else as the plan pins it, else as the Task names it.
func (c *client) image(ctx context.Context, pr *tektonv1.PipelineRun, taskRuns []tektonv1.TaskRun) (string, error) {
	for i := range taskRuns {
		if taskRuns[i].Labels["tekton.dev/pipelineTask"] == contract.Collect && taskRuns[i].Status.TaskSpec != nil {
			if image := firstImage(taskRuns[i].Status.TaskSpec); image != "" {
				return image, nil
			}
		}
	}
	plan, planErr := c.plan(ctx, pr)
	if planErr == nil && plan.Images[contract.Collect] != "" {
		return plan.Images[contract.Collect], nil
	}
	task, taskErr := c.taskImage(ctx, pr)
	if task != "" {
		return task, nil
	}
	return "", errors.Join(errors.New("neither the run, its plan nor its tasks name the image of task collect"), planErr,
		taskErr)
}

// firstImage is that of the task's step, or of what the step launches on another cluster.
func firstImage(task *tektonv1.TaskSpec) string {
	if len(task.Steps) == 0 {
		return ""
	}
	for _, arg := range task.Steps[0].Args {
		if image, ok := strings.CutPrefix(arg, "--files-image="); ok {
			return image
		}
	}
	return task.Steps[0].Image
}

func (c *client) plan(ctx context.Context, pr *tektonv1.PipelineRun) (*runplan.RunPlan, error) {
	for _, w := range pr.Spec.Workspaces {
		if w.Name != contract.WorkspacePlan || w.ConfigMap == nil {
			continue
		}
		cm, err := kube.Get[corev1.ConfigMap](ctx, c.api, kube.Core("configmaps", pr.Namespace, w.ConfigMap.Name))
		if err != nil {
			return nil, err
		}
		if text, ok := cm.Data[runplan.FileJSON]; ok {
			return runplan.Decode([]byte(text))
		}
		z, err := gzip.NewReader(bytes.NewReader(cm.BinaryData[runplan.FileGzip]))
		if err != nil {
			return nil, fmt.Errorf("unpacking the plan in %q: %w", cm.Name, err)
		}
		text, err := bounded.ReadAll(z, 16<<20)
		if err != nil {
			return nil, fmt.Errorf("unpacking the plan in %q: %w", cm.Name, err)
		}
		return runplan.Decode(text)
	}
	return nil, errors.New("the run names no plan")
}

func (c *client) taskImage(ctx context.Context, pr *tektonv1.PipelineRun) (string, error) {
	if pr.Status.PipelineSpec == nil {
		return "", nil
	}
	for _, t := range pr.Status.PipelineSpec.Tasks {
		if t.Name != contract.Collect || t.TaskRef == nil || t.TaskRef.Name == "" {
			continue
		}
		task, err := kube.Get[tektonv1.Task](ctx, c.api, kube.Tekton("tasks", pr.Namespace, t.TaskRef.Name))
		if err != nil {
			return "", err
		}
		return firstImage(&task.Spec), nil
	}
	return "", nil
}

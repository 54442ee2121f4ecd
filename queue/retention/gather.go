package retention

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/kmeta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// together is how many runs are gathered by one pod: it holds their volumes, and those of a node are limited.
	together = 8
	// gatherTimeout bounds a task that gathers: also its wait for a node that can have all of its volumes.
	gatherTimeout = 15 * time.Minute
	// gathersFail is after how many tasks that failed no more are made: the volumes stay, and go as those of any run.
	gathersFail = 3
)

// gathering is what is known of the gathering of the results of a matrix.
type gathering struct {
	parent *tektonv1.PipelineRun
	runs   map[string]ended // by identity
	tasks  []tektonv1.TaskRun
}

// ended is a run at its end.
type ended struct {
	attempts []tektonv1.PipelineRun
	last     *tektonv1.PipelineRun
	volume   *pipelines.RunVolume // of the last attempt; nil where it has none of its own, or nothing is to be gathered
}

// done says whether nothing of the run is to be gathered any more.
func (e ended) done() bool {
	return e.last.Annotations[contract.AnnotationVolumeDeleted] != "" || gatheredAt(e.last) != ""
}

// next is which runs are to be gathered now, none where a task is at it, or where too few are ready for one.
func (g *gathering) next(all bool) []ended {
	failed, single := 0, false
	left := maps.Clone(g.runs)
	for i := range g.tasks {
		task := &g.tasks[i]
		names := gathersOf(task)
		switch {
		case !task.IsDone():
			return nil
		case !task.IsSuccessful():
			failed++
			single = true // one volume that cannot be had beside others keeps those from nothing
		}
		if task.IsSuccessful() || len(names) == 1 {
			for _, name := range names { // what it has not gathered it could not
				delete(left, name)
			}
		}
	}
	ready := slices.SortedFunc(maps.Values(left), func(a, b ended) int {
		return cmp.Compare(point(a.last), point(b.last))
	})
	ready = slices.DeleteFunc(ready, func(e ended) bool { return e.volume == nil })
	switch {
	case failed >= gathersFail || len(ready) == 0 || len(ready) < together && !all:
		return nil
	case single:
		return ready[:1]
	}
	return ready[:min(together, len(ready))]
}

func point(pr *tektonv1.PipelineRun) int {
	n, _ := strconv.Atoi(pr.Annotations[contract.AnnotationPoint])
	return n
}

func gathersOf(task *tektonv1.TaskRun) []string {
	return strings.Split(task.Annotations[contract.AnnotationGathers], ",")
}

// start makes the task that gathers the results of runs. A second one of its name is the same.
func (m *Matrices) start(ctx context.Context, g *gathering, runs []ended) error {
	if err := m.claim(ctx, g.parent); err != nil {
		return err
	}
	task := gatherTask(g.parent, runs, len(g.tasks))
	if err := m.runs.client.Create(ctx, task); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("starting task %q: %w", task.Name, err)
	}
	return nil
}

// findVolumes finds where the results of runs lie that have a volume of their own.
func (m *Matrices) findVolumes(ctx context.Context, g *gathering) error {
	var all []tektonv1.PipelineRun
	for _, e := range g.runs {
		if !e.done() {
			all = append(all, e.attempts...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	claims, err := m.runs.volumes.of(ctx, all)
	if err != nil || len(claims) == 0 {
		return err
	}
	for id, e := range g.runs {
		if e.done() {
			continue
		}
		for _, child := range e.last.Status.ChildReferences {
			tr := &tektonv1.TaskRun{}
			if err := m.runs.client.Get(ctx, client.ObjectKey{Namespace: g.parent.Namespace, Name: child.Name}, tr); err != nil {
				continue
			}
			if e.volume = volumeOf(tr, claims); e.volume != nil {
				g.runs[id] = e
				break
			}
		}
	}
	return nil
}

// volumeOf is the volume that a task had for its run, where it is one of claims: only there has Tekton filled in its
// name.
func volumeOf(tr *tektonv1.TaskRun, claims []corev1.PersistentVolumeClaim) *pipelines.RunVolume {
	for _, w := range tr.Spec.Workspaces {
		if w.Name != contract.WorkspaceRun || w.PersistentVolumeClaim == nil {
			continue
		}
		name := w.PersistentVolumeClaim.ClaimName
		if slices.ContainsFunc(claims, func(c corev1.PersistentVolumeClaim) bool { return c.Name == name }) {
			return &pipelines.RunVolume{Run: run.ID(tr), Claim: name, SubPath: w.SubPath}
		}
	}
	return nil
}

// claim makes the volume of a matrix.
func (m *Matrices) claim(ctx context.Context, parent *tektonv1.PipelineRun) error {
	size, err := devices.ParseQuantity(string(corev1.ResourceStorage), parent.Annotations[contract.AnnotationResultsSize])
	if err != nil {
		return fmt.Errorf("reading annotation %s: %w", contract.AnnotationResultsSize, err)
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: contract.ResultsClaim(parent.Name), Namespace: parent.Namespace,
			Labels:          map[string]string{contract.LabelManagedBy: contract.ManagedBy, contract.LabelMatrix: parent.Name},
			OwnerReferences: []metav1.OwnerReference{run.Owner(parent)}},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}}},
	}
	if err := m.runs.client.Create(ctx, claim); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making volume %q: %w", claim.Name, err)
	}
	return nil
}

// gatherTask is the TaskRun that gathers; n tells it from those that failed before.
func gatherTask(parent *tektonv1.PipelineRun, runs []ended, n int) *tektonv1.TaskRun {
	var names []string
	var from []pipelines.RunVolume
	for _, e := range runs {
		names, from = append(names, run.ID(e.last)), append(from, *e.volume)
	}
	spec := parent.GetTaskRunSpec(contract.MatrixAggregate)
	return &tektonv1.TaskRun{
		ObjectMeta: metav1.ObjectMeta{
			Name:      kmeta.ChildName(parent.Name, fmt.Sprintf("-%s-%d-%d", contract.RoleGather, point(runs[0].last), n)),
			Namespace: parent.Namespace,
			Labels: map[string]string{contract.LabelManagedBy: contract.ManagedBy, contract.LabelRole: contract.RoleGather,
				contract.LabelMatrix: parent.Name, pipeline.PipelineTaskLabelKey: contract.RoleGather},
			Annotations:     map[string]string{contract.AnnotationGathers: strings.Join(names, ",")},
			OwnerReferences: []metav1.OwnerReference{run.Owner(parent)},
		},
		Spec: tektonv1.TaskRunSpec{TaskSpec: pipelines.Gather(imageOf(parent), contract.ResultsClaim(parent.Name), from),
			ServiceAccountName: spec.ServiceAccountName, PodTemplate: spec.PodTemplate,
			Timeout: &metav1.Duration{Duration: gatherTimeout}},
	}
}

// imageOf is that of binary bflow, which sums the matrix up.
func imageOf(parent *tektonv1.PipelineRun) string {
	if parent.Spec.PipelineSpec == nil {
		return ""
	}
	for _, task := range parent.Spec.PipelineSpec.Finally {
		if task.Name == contract.MatrixAggregate && task.TaskSpec != nil && len(task.TaskSpec.Steps) == 1 {
			return task.TaskSpec.Steps[0].Image
		}
	}
	return ""
}

// finish takes from tasks that have ended what they gathered. A task that has gathered all of its runs goes; one that
// has not stays, so that its runs are not tried again and again.
func (m *Matrices) finish(ctx context.Context, g *gathering) error {
	var stay []tektonv1.TaskRun
	for i := range g.tasks {
		task := &g.tasks[i]
		if !task.IsSuccessful() {
			stay = append(stay, *task)
			continue
		}
		there := gathered(task)
		for _, name := range there {
			if !slices.Contains(gathersOf(task), name) {
				continue // it had nothing to do with that run
			}
			if err := m.replace(ctx, g, name); err != nil {
				return err
			}
		}
		if len(there) < len(gathersOf(task)) {
			stay = append(stay, *task)
			continue
		}
		if err := m.runs.client.Delete(ctx, task,
			client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting task %q: %w", task.Name, err)
		}
	}
	g.tasks = stay
	return nil
}

func gathered(task *tektonv1.TaskRun) []string {
	for _, r := range task.Status.Results {
		if r.Name == contract.ResultGathered && r.Value.StringVal != "" {
			return strings.Split(r.Value.StringVal, ",")
		}
	}
	return nil
}

// replace notes where the results of a run are now, and lets its volume go: that of a run that failed with its pods,
// whose logs somebody may want to read.
func (m *Matrices) replace(ctx context.Context, g *gathering, name string) error {
	e, there := g.runs[name]
	if !there {
		return nil
	}
	if !e.done() {
		if err := m.runs.note(ctx, e.last, contract.AnnotationResults,
			contract.ResultsClaim(g.parent.Name)+"/"+name); err != nil {
			return err
		}
	}
	_, d := m.runs.judge(e.attempts)
	if !e.last.IsSuccessful() && !d.pods {
		return nil
	}
	claims, err := m.runs.volumes.of(ctx, e.attempts)
	if err != nil || len(claims) == 0 {
		return err
	}
	_, err = m.runs.deleteExpiredVolumes(ctx, e.attempts, claims)
	return err
}

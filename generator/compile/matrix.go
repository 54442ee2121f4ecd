package compile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"bflow.dev/bflow/generator/shard"
	"bflow.dev/bflow/load/demand"
	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/kmeta"
)

// MatrixObjects are what several plans compile to as one matrix: the controller makes their runs, as Compile would have
// made them. What runs share is made beside the parent, because only a person has the right to.
type MatrixObjects struct {
	Tasks     []*tektonv1.Task
	Pipelines []*tektonv1.Pipeline // those that no bundle holds
	Plans     []*corev1.ConfigMap  // the points, in pieces
	Parent    *tektonv1.PipelineRun
	Points    int
}

// Matrix compiles plans, in the order in which they are to run, as one matrix. They are taken one by one, and only
// their packed form is kept.
func Matrix(plans Plans, o Options) (MatrixObjects, error) {
	c, err := newCompiler(o)
	if err != nil {
		return MatrixObjects{}, err
	}
	if c.NoQueue {
		return MatrixObjects{},
			errors.New("compiling a matrix: its runs wait in a queue; without one, compile a run for every point")
	}
	m := c.newMatrix()
	for plan, err := range plans {
		if err != nil {
			return MatrixObjects{}, err
		}
		if err := m.add(plan); err != nil {
			return MatrixObjects{}, err
		}
	}
	return m.close()
}

// gathering is a matrix that is being compiled.
type gathering struct {
	*compiler
	shared map[string]bool
	points *shard.Writer
	first  *runplan.RunPlan
	model  string // of all points, "several" where they differ
	room   int64  // bytes of the results of all points
	out    MatrixObjects
}

func (c *compiler) newMatrix() *gathering {
	return &gathering{compiler: c, shared: map[string]bool{}, points: shard.NewWriter(0)}
}

func (m *gathering) add(plan *runplan.RunPlan) error {
	objs, err := m.compile(plan)
	if err != nil {
		return err
	}
	return m.addCompiled(plan, objs)
}

func (m *gathering) addCompiled(plan *runplan.RunPlan, objs Objects) error {
	if m.first == nil {
		m.first, m.model = plan, plan.Deployment.Model.Name
	}
	if plan.Deployment.Model.Name != m.model {
		m.model = "several"
	}
	if plan.Target.Namespace != m.first.Target.Namespace {
		return fmt.Errorf(
			"compiling plan %q: its namespace is %q, and that of the matrix %q; name one with -n, or compile a run for "+
				"every point",
			plan.Name, plan.Target.Namespace, m.first.Target.Namespace)
	}
	point, err := pointOf(plan, objs.PipelineRun)
	if err != nil {
		return err
	}
	m.share(objs)
	m.out.Points++
	m.room += demand.Room(plan)
	return m.points.Add(point)
}

// share keeps what runs of a shape have in common, once.
func (m *gathering) share(o Objects) {
	if o.Bundled || m.shared[o.Pipeline.Name] {
		return
	}
	m.shared[o.Pipeline.Name] = true
	m.out.Pipelines = append(m.out.Pipelines, o.Pipeline)
	for _, t := range o.Tasks {
		if !m.shared["task/"+t.Name] {
			m.shared["task/"+t.Name] = true
			m.out.Tasks = append(m.out.Tasks, t)
		}
	}
}

func pointOf(plan *runplan.RunPlan, run *tektonv1.PipelineRun) (shard.Point, error) {
	text, err := runplan.Marshal(plan)
	if err != nil {
		return shard.Point{}, fmt.Errorf("compiling plan %q: %w", plan.Name, err)
	}
	tree, err := tree(run)
	if err != nil {
		return shard.Point{}, err
	}
	prune(tree)
	object, err := runplan.Canonical(tree)
	if err != nil {
		return shard.Point{}, fmt.Errorf("compiling plan %q: %w", plan.Name, err)
	}
	var expected runplan.Duration
	for _, d := range plan.Timeouts.Measurement {
		expected += d
	}
	about := shard.About{Name: plan.Name, Lane: laneOf(run), Expected: expected.D().Round(time.Second)}
	return shard.Point{About: about, Plan: text, Run: object}, nil
}

// laneOf says which runs wait for each other: those of one queue, or of the same choice of targets.
func laneOf(run *tektonv1.PipelineRun) string { return run.Labels[contract.LabelQueue] }

func (m *gathering) close() (MatrixObjects, error) {
	pieces, err := m.points.Close()
	if err != nil {
		return MatrixObjects{}, err
	}
	labels := maps.Clone(planLabels(m.first))
	for _, key := range []string{contract.LabelPlanHash, contract.LabelTarget, contract.LabelPoint} {
		delete(labels, key) // of single runs: what has them is taken for one
	}
	labels[contract.LabelRole] = contract.RoleMatrix
	meta := metav1.ObjectMeta{Namespace: m.first.Target.Namespace, Labels: labels,
		Annotations: map[string]string{contract.AnnotationName: m.first.Experiment}}
	if m.out.Plans, err = plansOf(pieces, meta); err != nil {
		return MatrixObjects{}, err
	}
	m.out.Parent = m.parent(pieces, meta)
	return m.out, nil
}

// keyHeader and keyPoints are those of a ConfigMap with points.
const (
	keyHeader = "header.json"
	keyPoints = "points.gz"
)

func plansOf(pieces []shard.Piece, meta metav1.ObjectMeta) ([]*corev1.ConfigMap, error) {
	immutable := true
	var out []*corev1.ConfigMap
	for n, p := range pieces {
		header, err := marshal(p.Header)
		if err != nil {
			return nil, err
		}
		cm := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: *meta.DeepCopy(),
			Immutable: &immutable,
			Data:      map[string]string{keyHeader: string(header)}, BinaryData: map[string][]byte{keyPoints: p.Packed}}
		cm.Name = contract.PlansConfigMap(p.Header.Root, n)
		out = append(out, cm)
	}
	return out, nil
}

// ReadPiece reads a ConfigMap that holds points.
func ReadPiece(cm *corev1.ConfigMap) (shard.Piece, error) {
	p := shard.Piece{Packed: cm.BinaryData[keyPoints]}
	if err := json.Unmarshal([]byte(cm.Data[keyHeader]), &p.Header); err != nil {
		return p, fmt.Errorf("reading ConfigMap %q: it holds no points of a matrix: %w", cm.Name, err)
	}
	return p, nil
}

func (m *gathering) parent(pieces []shard.Piece, meta metav1.ObjectMeta) *tektonv1.PipelineRun {
	meta.GenerateName = parentBase(m.first) + "-"
	meta.Annotations = maps.Clone(meta.Annotations)
	meta.Annotations[contract.AnnotationModel] = m.model
	meta.Annotations[contract.AnnotationLoad] = loadOf(m.out.Points)
	maps.Copy(meta.Annotations, lifetime(m.first))
	if m.ResultsClaim == "" {
		meta.Annotations[contract.AnnotationResultsSize] = volume(m.room).String()
	}
	spec := pipelines.Matrix{
		Image: m.parentImage(), Root: pieces[0].Header.Root, Pieces: len(pieces), Points: m.out.Points,
		MaxParallel: m.first.Execution.MaxParallel, FailFast: m.first.Execution.FailFast,
		Experiment: m.first.Sinks.MLflow.Experiment,
	}
	none := metav1.Duration{}
	return &tektonv1.PipelineRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: "tekton.dev/v1", Kind: "PipelineRun"},
		ObjectMeta: meta,
		Spec: tektonv1.PipelineRunSpec{
			PipelineSpec: spec.Spec(),
			// None: how long its runs wait in their queues nobody knows. Each of them has its own.
			Timeouts:        &tektonv1.TimeoutFields{Pipeline: &none, Tasks: &none},
			TaskRunTemplate: m.parentTemplate(),
		},
	}
}

// loadOf says to people what a matrix measures.
func loadOf(points int) string {
	if points == 1 {
		return "1 point"
	}
	return fmt.Sprintf("%d points", points)
}

func (m *gathering) parentTemplate() tektonv1.PipelineTaskRunTemplate {
	local := *m.first
	local.Target.HostAliases = nil // of the target: these tasks speak with the hub only
	return m.taskRunTemplate(&local)
}

// parentImage is that of binary bflow, which runs the tasks around a matrix.
func (m *gathering) parentImage() string {
	return cmp.Or(m.BflowImage, fmt.Sprintf("%s/%s:%s", m.ImagePrefix, "bflow", m.tag()))
}

// parentBase leaves room in the 63 characters of a run's name for the random part of its parent's, its place in the
// matrix and the number of a later attempt.
func parentBase(plan *runplan.RunPlan) string { return runplan.PointName(plan.Experiment, 0, 0) }

// ChildName is the name of the run of point n, from 1, of a matrix.
func ChildName(parent string, n int) string {
	digits := strconv.Itoa(n)
	for len(digits) < 5 {
		digits = "0" + digits
	}
	return kmeta.ChildName(parent, "-"+digits)
}

// Child returns the plan of a point as a ConfigMap and its run, as Compile made them.
func Child(p shard.Point) (*corev1.ConfigMap, *tektonv1.PipelineRun, error) {
	plan, err := runplan.Decode(p.Plan)
	if err != nil {
		return nil, nil, fmt.Errorf("making a run of point %s: %w", p.Name, err)
	}
	if err := runplan.Verify(plan); err != nil {
		return nil, nil, fmt.Errorf("making a run of point %s: %w", p.Name, err)
	}
	run := &tektonv1.PipelineRun{}
	if err := json.Unmarshal(p.Run, run); err != nil {
		return nil, nil, fmt.Errorf("making a run of point %s: %w", p.Name, err)
	}
	cm, err := new(compiler).configMap(plan)
	if err != nil {
		return nil, nil, fmt.Errorf("making a run of point %s: %w", p.Name, err)
	}
	return cm, run, nil
}

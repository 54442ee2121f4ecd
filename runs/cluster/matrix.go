package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Matrix is a matrix on the cluster: its parent, and what its controller says of it.
type Matrix struct {
	Parent tektonv1.PipelineRun
	Custom *tektonv1beta1.CustomRun // nil before Tekton has made it
}

// Matrices are those of a cluster.
type Matrices struct{ c *Cluster }

// Matrices returns what is done with matrices.
func (c *Cluster) Matrices() Matrices { return Matrices{c} }

// matrices selects parents, and their CustomRuns, which inherit the label.
const matrices = contract.LabelRole + "=" + contract.RoleMatrix

// List returns every matrix in namespace, newest first; in all namespaces where it is "".
func (ms Matrices) List(ctx context.Context, namespace string) ([]Matrix, error) {
	parents, err := kube.List[tektonv1.PipelineRun](ctx, ms.c.api, pipelineRuns(namespace, ""), kube.Labels(matrices))
	if err != nil || len(parents) == 0 {
		return nil, wrap("listing matrices", err)
	}
	customs, err := kube.List[tektonv1beta1.CustomRun](ctx, ms.c.api, kube.CustomRuns(namespace, ""),
		kube.Labels(matrices))
	// who may not look, or where nothing serves CustomRuns, sees what Tekton says of the parent
	if err != nil && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("listing matrices: %w", err)
	}
	out := make([]Matrix, len(parents))
	for i, p := range parents {
		out[i] = Matrix{Parent: p}
		for j := range customs {
			if owns(&p, &customs[j]) {
				out[i].Custom = &customs[j]
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Matrix) int {
		return b.Parent.CreationTimestamp.Compare(a.Parent.CreationTimestamp.Time)
	})
	return out, nil
}

func owns(pr *tektonv1.PipelineRun, cr *tektonv1beta1.CustomRun) bool {
	return slices.ContainsFunc(cr.OwnerReferences, func(o ownerReference) bool { return o.UID == pr.UID })
}

// Find returns the matrix of a name, or of an unambiguous start of one, in one of namespaces; nil where there is
// none. "" stands for all namespaces. Where those may not be listed it goes on with the next.
func (ms Matrices) Find(ctx context.Context, name string, namespaces ...string) (*Matrix, error) {
	var denied error
	for _, namespace := range namespaces {
		all, err := ms.List(ctx, namespace)
		switch {
		case apierrors.IsForbidden(err):
			denied = errors.Join(denied, err)
			continue
		case err != nil:
			return nil, err
		}
		return pick(all, name), nil
	}
	return nil, denied
}

func pick(all []Matrix, name string) *Matrix {
	var hit *Matrix
	for i := range all {
		switch {
		case all[i].Name() == name:
			return &all[i]
		case strings.HasPrefix(all[i].Name(), name) && hit != nil:
			return nil
		case strings.HasPrefix(all[i].Name(), name):
			hit = &all[i]
		}
	}
	return hit
}

// Name is that of the parent.
func (m *Matrix) Name() string { return m.Parent.Name }

// Namespace is that of the parent and of all its runs.
func (m *Matrix) Namespace() string { return m.Parent.Namespace }

// Child is the name of the run of point i, from 0.
func (m *Matrix) Child(i int) string { return compile.ChildName(m.Name(), i+1) }

// param is a param of the task that makes the runs.
func (m *Matrix) param(name string) string {
	if m.Parent.Spec.PipelineSpec == nil {
		return ""
	}
	for _, task := range m.Parent.Spec.PipelineSpec.Tasks {
		for _, p := range task.Params {
			if task.Name == contract.MatrixChildren && p.Name == name {
				return p.Value.StringVal
			}
		}
	}
	return ""
}

// Points is how many there are.
func (m *Matrix) Points() int {
	n, _ := strconv.Atoi(m.param(contract.ParamPoints))
	return max(n, 0)
}

// State is what its controller has written, that of one which has just begun where it has written nothing.
func (m *Matrix) State() (*state.State, []state.Outcome, error) {
	var raw []byte
	if m.Custom != nil {
		raw = m.Custom.Status.ExtraFields.Raw
	}
	s, err := state.Read(raw, m.Points())
	if err != nil {
		return nil, nil, fmt.Errorf("reading matrix %s: %w", m.Name(), err)
	}
	if s.Outcomes == "" {
		s.Counts.Waiting = s.Points
	}
	outcomes, err := state.Decode(s.Outcomes, s.Points)
	if err != nil {
		return nil, nil, fmt.Errorf("reading matrix %s: %w", m.Name(), err)
	}
	return s, outcomes, nil
}

// MatrixStatus is how far a matrix is, or how it ended.
type MatrixStatus struct {
	Matrix     string       `json:"matrix"`
	Cluster    string       `json:"cluster,omitempty"`
	Namespace  string       `json:"namespace"`
	Experiment string       `json:"experiment,omitempty"`
	State      local.State  `json:"state"`
	Alive      bool         `json:"alive"`
	Created    time.Time    `json:"created"`
	Finished   time.Time    `json:"finished,omitzero"`
	Points     int          `json:"points"`
	Counts     state.Counts `json:"counts"`
	Finish     time.Time    `json:"finish,omitzero"` // when it will have ended, by a guess
	Verdict    string       `json:"verdict,omitempty"`
	ExitCode   int          `json:"exitCode"`
	Message    string       `json:"message,omitempty"`
	Waits      []string     `json:"waits,omitempty"`
	Notes      []string     `json:"notes,omitempty"`
}

// Status puts together what the objects of a matrix say. It asks nobody.
func (m *Matrix) Status() (MatrixStatus, error) {
	s, outcomes, err := m.State()
	if err != nil {
		return MatrixStatus{}, err
	}
	pr := &m.Parent
	out := MatrixStatus{Matrix: m.Name(), Namespace: m.Namespace(), Experiment: pr.Annotations[contract.AnnotationName],
		Created: pr.CreationTimestamp.UTC(), Points: s.Points, Counts: s.Counts, Finish: s.Finish, Waits: s.Waits,
		Notes: s.Notes}
	out.State, _ = stateOf(pr)
	// A parent that is cancelled outright is done for Tekton at once; its runs are still taken down.
	out.Alive = !out.State.Done() || m.Custom != nil && !m.Custom.IsDone()
	if pr.Status.CompletionTime != nil && !out.Alive {
		out.Finished = pr.Status.CompletionTime.UTC()
	}
	if !out.Alive {
		out.Verdict, out.ExitCode = s.Counts.Verdict(), exitOf(outcomes, out.State)
	}
	out.Message = m.sentence(s, &out)
	return out, nil
}

func (m *Matrix) sentence(s *state.State, out *MatrixStatus) string {
	switch {
	case m.Custom == nil && out.Alive:
		return "its first task is starting; it has no runs yet"
	case m.Custom == nil:
		return cmp.Or(message(&m.Parent), "it ended before any run was created")
	case m.Custom.Status.GetCondition("Succeeded") == nil:
		return fmt.Sprintf("%s has not picked it up yet: see bflow doctor", contract.AccountController)
	case m.Custom.IsDone() && s.Outcomes == "":
		return m.Custom.Status.GetCondition("Succeeded").Message
	case m.Custom.IsCancelled() && out.Alive:
		return "it is being cancelled; " + s.Sentence(time.Now())
	}
	return s.Sentence(time.Now())
}

func message(pr *tektonv1.PipelineRun) string {
	if cond := pr.Status.GetCondition("Succeeded"); cond != nil {
		return plain(cond.Message)
	}
	return ""
}

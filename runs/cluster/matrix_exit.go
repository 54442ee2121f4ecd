package cluster

import (
	"context"
	"fmt"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/report/brief"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/verdict"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type ownerReference = metav1.OwnerReference

// exitOf is the exit code that stands for all points, as far as their outcomes tell: what exactly a run failed of
// stands in its summary.
func exitOf(outcomes []state.Outcome, parent local.State) int {
	var codes []int
	cancelled := parent == local.Cancelled
	for _, o := range outcomes {
		codes = append(codes, codeOf(o))
		cancelled = cancelled || o == state.Cancelled || o == state.Deleted
	}
	return settle(codes, cancelled)
}

// settle is the code of several runs; an interruption is only that where nothing worse happened.
func settle(codes []int, cancelled bool) int {
	if code := verdict.ExitCode(codes...); code != contract.ExitPass {
		return code
	}
	if cancelled {
		return contract.ExitInterrupted
	}
	return contract.ExitPass
}

func codeOf(o state.Outcome) int {
	switch o {
	case state.Failed:
		return contract.ExitFail
	case state.Invalid:
		return contract.ExitInvalid
	case state.Inconclusive:
		return contract.ExitInconclusive
	}
	return contract.ExitPass
}

// Briefs are the summaries of the runs of a matrix, by point, nil where there is none.
func (ms Matrices) Briefs(ctx context.Context, m *Matrix) ([]*brief.Brief, error) {
	sel := results
	if experiment := m.Parent.Labels[contract.LabelExperiment]; experiment != "" {
		sel += "," + contract.LabelExperiment + "=" + experiment
	}
	maps, err := kube.List[corev1.ConfigMap](ctx, ms.c.api, configMaps(m.Namespace(), ""), kube.Labels(sel))
	if err != nil {
		return nil, fmt.Errorf("reading the summaries of matrix %s: %w", m.Name(), err)
	}
	found := map[string]*corev1.ConfigMap{}
	for i := range maps {
		found[maps[i].Labels[contract.LabelRun]] = &maps[i]
	}
	out := make([]*brief.Brief, m.Points())
	for i := range out {
		if cm := found[m.Child(i)]; cm != nil {
			if out[i], err = briefIn(cm); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// Exit is the exit code of a matrix that has ended, by the words of its runs.
func (m *Matrix) Exit(briefs []*brief.Brief) (int, error) {
	_, outcomes, err := m.State()
	if err != nil {
		return contract.ExitFail, err
	}
	parent, _ := stateOf(&m.Parent)
	cancelled := parent == local.Cancelled
	var codes []int
	for i, o := range outcomes {
		code := codeOf(o)
		if o.Red() && i < len(briefs) && briefs[i] != nil && briefs[i].ExitCode != contract.ExitInterrupted &&
			briefs[i].ExitCode != contract.ExitPass {
			code = known(briefs[i].ExitCode)
		}
		codes = append(codes, code)
		cancelled = cancelled || o == state.Cancelled || o == state.Deleted
	}
	if m.Custom == nil && parent == local.Failed { // it ended before any run was created
		codes = append(codes, contract.ExitFail)
	}
	return settle(codes, cancelled), nil
}

package matrix

import (
	"context"
	"fmt"

	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Gate keeps runs of a matrix that ends from being made or let start.
type Gate struct {
	live client.Reader
}

// NewGate makes a Gate; live reads past caches: what was cancelled a moment ago must not start.
func NewGate(live client.Reader) *Gate { return &Gate{live: live} }

// endsError says of which matrix no run may start any more.
type endsError struct{ matrix string }

func (e *endsError) Error() string { return fmt.Sprintf("its matrix %q ends", e.matrix) }

// MayStart returns why a run must not be let start, nil where it may. A run of no matrix always may.
func (g *Gate) MayStart(ctx context.Context, pr *tektonv1.PipelineRun) error {
	owner := metav1.GetControllerOf(pr)
	if pr.Labels[contract.LabelMatrix] == "" || owner == nil || owner.Kind != kind {
		return nil
	}
	cr := &tektonv1beta1.CustomRun{}
	err := g.live.Get(ctx, client.ObjectKey{Namespace: pr.Namespace, Name: owner.Name}, cr)
	switch {
	case apierrors.IsNotFound(err) || err == nil && (cr.UID != owner.UID || Ending(cr)):
		return &endsError{pr.Labels[contract.LabelMatrix]}
	case err != nil:
		return fmt.Errorf("reading its matrix: %w", err)
	}
	ref := parentOf(cr)
	if ref == nil {
		return nil
	}
	parent := &tektonv1.PipelineRun{}
	err = g.live.Get(ctx, client.ObjectKey{Namespace: pr.Namespace, Name: ref.Name}, parent)
	switch {
	case apierrors.IsNotFound(err) || err == nil && (parent.UID != ref.UID || parentEnding(parent)):
		return &endsError{ref.Name}
	case err != nil:
		return fmt.Errorf("reading its matrix: %w", err)
	}
	return nil
}

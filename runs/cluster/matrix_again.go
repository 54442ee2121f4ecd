package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/generator/shard"
	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
)

// Points are those of a matrix, as they were submitted.
type Points struct{ *shard.Points }

// Points reads the points of a matrix.
func (ms Matrices) Points(ctx context.Context, m *Matrix) (*Points, error) {
	n, err := strconv.Atoi(m.param(contract.ParamPieces))
	root := m.param(contract.ParamPlans)
	if err != nil || len(root) != 64 {
		return nil, fmt.Errorf("reading matrix %s: it names no points", m.Name())
	}
	var pieces []shard.Piece
	for i := range n {
		cm, err := kube.Get[corev1.ConfigMap](ctx, ms.c.api, configMaps(m.Namespace(), contract.PlansConfigMap(root, i)))
		if err != nil {
			return nil, fmt.Errorf("reading the points of matrix %s: %w", m.Name(), err)
		}
		piece, err := compile.ReadPiece(cm)
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, piece)
	}
	points, err := shard.Read(root, pieces)
	if err != nil {
		return nil, fmt.Errorf("reading the points of matrix %s: %w", m.Name(), err)
	}
	return &Points{points}, nil
}

// ErrNothing is a matrix of which nothing is to be run again.
var ErrNothing = errors.New("none of its points has failed")

// Again makes a new matrix of the points of another one; failed takes only those that have not come to a good
// end. name names it.
func (ms Matrices) Again(ctx context.Context, m *Matrix, failed bool,
	name func(base string) string) (*Matrix, error) {
	points, err := ms.Points(ctx, m)
	if err != nil {
		return nil, err
	}
	_, outcomes, err := m.State()
	if err != nil {
		return nil, err
	}
	var keep []int
	for i, o := range outcomes {
		if !failed || o.Ended() && !o.Good() {
			keep = append(keep, i)
		}
	}
	if len(keep) == 0 {
		return nil, fmt.Errorf("running matrix %s again: %w", m.Name(), ErrNothing)
	}
	objects, err := compile.Select(&m.Parent, points.Points, keep)
	if err != nil {
		return nil, err
	}
	base := base(m.Name())
	objects.Parent.GenerateName, objects.Parent.Name = "", name(base[:min(len(base), longestMatrix)])
	for _, dry := range []bool{true, false} {
		if err := ms.create(ctx, objects, Submission{}, dry); err != nil {
			return nil, err
		}
	}
	return ms.start(ctx, objects, Submission{})
}

// Failed is how many points of a matrix a run of what failed would have.
func Failed(outcomes []state.Outcome) int {
	n := 0
	for _, o := range outcomes {
		if o.Ended() && !o.Good() {
			n++
		}
	}
	return n
}

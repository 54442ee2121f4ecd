package compile

import (
	"time"

	"bflow.dev/bflow/generator/shard"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
)

// Points are the points of a matrix, read from the ConfigMaps that Matrix made: Add reads one after the other, in their
// order, and Close checks that they are all there and unchanged. Only then anything else may be asked for.
type Points struct {
	root   string
	pieces []shard.Piece
	all    *shard.Points
}

// NewPoints begins to read the points whose root digest is root.
func NewPoints(root string) *Points { return &Points{root: root} }

// Add reads the next ConfigMap.
func (p *Points) Add(cm *corev1.ConfigMap) error {
	piece, err := ReadPiece(cm)
	if err != nil {
		return err
	}
	p.pieces = append(p.pieces, piece)
	return nil
}

// Close ends the reading.
func (p *Points) Close() error {
	all, err := shard.Read(p.root, p.pieces)
	p.all, p.pieces = all, nil
	return err
}

// Len is how many points there are.
func (p *Points) Len() int { return p.all.Len() }

// Lane names the queue of the run of point i, from 0: runs of one lane wait for each other.
func (p *Points) Lane(i int) string { return p.all.About(i).Lane }

// Expected is how long the load of point i takes, 0 where that is not known.
func (p *Points) Expected(i int) time.Duration { return p.all.About(i).Expected }

// Child returns the plan of point i as a ConfigMap and its run, as Compile made them.
func (p *Points) Child(i int) (*corev1.ConfigMap, *tektonv1.PipelineRun, error) {
	point, err := p.all.Point(i)
	if err != nil {
		return nil, nil, err
	}
	return Child(point)
}

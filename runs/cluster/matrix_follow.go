package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// partial is an object without what it is about: of thousands of runs only who they are and what is noted on them.
type partial = metav1.PartialObjectMetadata

// MatrixView is a matrix as people watch it: the whole, and the runs that are there and have not ended.
type MatrixView struct {
	MatrixStatus
	Runs []RunLine
}

// RunLine is a run of a matrix in a line.
type RunLine struct {
	Run, Target string
	Point       int // place in the order, from 1
	State       local.State
	Since       time.Time // since when it waits or runs
	Reason      string    // why it waits, or what its end waits for
}

// Follow tells show of every change of a matrix until it has ended, and returns how. trouble hears of
// interruptions, and nil when they are over. When ctx ends before, the matrix goes on.
func (ms Matrices) Follow(ctx context.Context, m *Matrix, show func(MatrixView),
	trouble func(error)) (*Matrix, error) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	f := matrixFollower{m: *m}
	parents, customs := make(chan []*tektonv1.PipelineRun), make(chan []*tektonv1beta1.CustomRun)
	runs, troubles, failed := make(chan []*partial), make(chan error), make(chan error, 3)
	at := pipelineRuns(m.Namespace(), "")
	watching.Go(func() {
		failed <- kube.Follow(ctx, ms.c.api, at, kube.Named(m.Name()), send(ctx, parents), send(ctx, troubles))
	})
	watching.Go(func() {
		sel := customsOf(m.Name())
		failed <- kube.Follow(ctx, ms.c.api, kube.CustomRuns(m.Namespace(), ""), sel, send(ctx, customs), nil)
	})
	watching.Go(func() {
		sel := kube.Labels(contract.LabelMatrix + "=" + m.Name())
		failed <- kube.Follow(ctx, ms.c.api, at, sel, send(ctx, runs), nil)
	})
	for {
		select {
		case all := <-parents:
			if err := f.parent(all); err != nil {
				return &f.m, err
			}
		case all := <-customs:
			f.custom(all)
		case f.runs = <-runs:
		case err := <-troubles:
			trouble(err)
			continue
		case err := <-failed:
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return &f.m, err
		}
		view, err := f.view()
		if err != nil {
			return &f.m, err
		}
		view.Cluster = ms.c.Name
		show(view)
		if f.listed && !view.Alive {
			return &f.m, nil
		}
	}
}

// matrixFollower is what is known of a matrix that is followed.
type matrixFollower struct {
	m      Matrix
	listed bool // the CustomRuns were listed once
	runs   []*partial
}

var errMatrixDeleted = errors.New("the matrix was deleted")

func (f *matrixFollower) parent(all []*tektonv1.PipelineRun) error {
	for _, pr := range all {
		if pr.UID == f.m.Parent.UID {
			f.m.Parent = *pr
			return nil
		}
	}
	return fmt.Errorf("following %s: %w", f.m.Name(), errMatrixDeleted)
}

func (f *matrixFollower) custom(all []*tektonv1beta1.CustomRun) {
	f.listed = true
	for _, cr := range all {
		if owns(&f.m.Parent, cr) {
			f.m.Custom = cr
		}
	}
}

func (f *matrixFollower) view() (MatrixView, error) {
	status, err := f.m.Status()
	if err != nil {
		return MatrixView{}, err
	}
	_, outcomes, err := f.m.State()
	if err != nil {
		return MatrixView{}, err
	}
	v := MatrixView{MatrixStatus: status}
	for _, pr := range f.runs {
		line := lineOf(pr)
		if line.Point < 1 || line.Point > len(outcomes) || outcomes[line.Point-1].Ended() {
			continue
		}
		v.Runs = append(v.Runs, line)
	}
	slices.SortFunc(v.Runs, func(a, b RunLine) int {
		if a.State != b.State {
			return strings.Compare(string(b.State), string(a.State)) // Running before Pending
		}
		return strings.Compare(a.Run, b.Run)
	})
	return v, nil
}

func lineOf(pr *partial) RunLine {
	n, _ := strconv.Atoi(pr.Annotations[contract.AnnotationPoint])
	l := RunLine{Run: pr.Name, Target: pr.Labels[contract.LabelTarget], Point: n, State: local.Pending,
		Since: pr.CreationTimestamp.UTC(), Reason: pr.Annotations[contract.AnnotationReason]}
	if at, err := time.Parse(time.RFC3339, pr.Annotations[contract.AnnotationAdmitted]); err == nil {
		l.State, l.Since = local.Running, at
	}
	if pr.Annotations[contract.AnnotationFreed] != "" && l.Reason == "" {
		l.Reason = "its GPUs are free; results are computed"
	}
	return l
}

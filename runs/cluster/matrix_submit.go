package cluster

import (
	"context"
	"fmt"
	"strings"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// longestMatrix leaves room in the 63 characters of a run's name for time, random part, its place and the number of a
// later attempt.
const longestMatrix = 32

// Submit makes plans one matrix, or finds the one that its parent has made before. The server checks everything
// before anything is made: also the first run of each queue, as the controller will make it.
func (ms Matrices) Submit(ctx context.Context, sub Submission) (*Matrix, error) {
	objects, err := compile.Matrix(func(yield func(*runplan.RunPlan, error) bool) {
		for _, p := range sub.Plans {
			if !yield(p, nil) {
				return
			}
		}
	}, sub.Compile)
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(objects.Parent.GenerateName, "-")
	objects.Parent.GenerateName, objects.Parent.Name = "",
		sub.Name(strings.TrimRight(base[:min(len(base), longestMatrix)], "-"))
	sub.Parent.adopt(objects.Parent, sub.Notes)
	samples, err := sub.samples(objects.Parent.Name)
	if err != nil {
		return nil, err
	}
	if err := ms.c.ready(ctx, samples); err != nil {
		return nil, err
	}
	if err := ms.create(ctx, objects, sub, true); err != nil {
		return nil, err
	}
	for _, o := range samples {
		err := ms.c.check(ctx, o.PipelineRun)
		if err != nil && !sub.madeBefore(err) {
			return nil, fmt.Errorf("checking the first run of queue %s: %w", o.PipelineRun.Labels[contract.LabelQueue], err)
		}
	}
	if err := ms.create(ctx, objects, sub, false); err != nil {
		return nil, err
	}
	return ms.start(ctx, objects, sub)
}

// samples are the objects of the first plan of each queue.
func (sub *Submission) samples(name string) ([]compile.Objects, error) {
	sampled := map[string]bool{}
	var out []compile.Objects
	for _, p := range sub.Plans {
		if sampled[p.Queue.Name] {
			continue
		}
		sampled[p.Queue.Name] = true
		o, err := compile.Compile(p, sub.Compile)
		if err != nil {
			return nil, err
		}
		named(o.PipelineRun, fmt.Sprintf("%s-%05d", name, len(out)+1))
		out = append(out, o)
	}
	return out, nil
}

// create makes what the parent and its runs need. A dry one has the server check the parent too.
func (ms Matrices) create(ctx context.Context, m compile.MatrixObjects, sub Submission, dry bool) error {
	err := ms.c.share(ctx, parts(sub.credentials(m), m.Tasks, m.Pipelines, m.Plans), dry)
	if err != nil || !dry {
		return err
	}
	if err := ms.c.check(ctx, m.Parent); err != nil && !sub.madeBefore(err) {
		return fmt.Errorf("checking matrix %s: %w", m.Parent.Name, err)
	}
	return nil
}

// madeBefore reports whether a server refuses what an earlier try of the parent's task may have made.
func (sub *Submission) madeBefore(err error) bool {
	return sub.Parent != nil && apierrors.IsAlreadyExists(err)
}

// credentials are those that the file held literally and a run of the matrix needs.
func (sub *Submission) credentials(m compile.MatrixObjects) []*corev1.Secret {
	named := map[string]bool{}
	for _, p := range sub.Plans {
		keys, _ := runplan.ReferencesIn(p) // it was compiled: it can be written
		for _, k := range keys {
			named[k.Name] = true
		}
		for _, l := range p.Measurements {
			if k := l.API.APIKeySecret; k != nil {
				named[k.Name] = true
			}
		}
	}
	return sub.secrets(m.Parent, func(name string) bool { return named[name] })
}

// start makes the parent, and it an owner of what it needs.
func (ms Matrices) start(ctx context.Context, m compile.MatrixObjects, sub Submission) (*Matrix, error) {
	pr, err := ms.c.begin(ctx, m.Parent, sub.Parent)
	if err != nil {
		return nil, fmt.Errorf("submitting matrix %s: %w", m.Parent.Name, err)
	}
	for _, cm := range m.Plans {
		ms.c.own(ctx, pr, configMaps(pr.Namespace, cm.Name), cm)
	}
	if sub.Parent != nil {
		return &Matrix{Parent: *pr}, nil // its Secrets are its own: see start
	}
	for _, secret := range sub.credentials(m) {
		ms.c.own(ctx, pr, secrets(pr.Namespace, secret.Name), secret)
	}
	return &Matrix{Parent: *pr}, nil
}

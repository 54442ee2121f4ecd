package gc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

const (
	// MinAge is the age below which nothing is touched, whatever is known of its run.
	MinAge = 2 * time.Minute
	// GracePeriod is how long after its release what is left of a run is left to package release.
	GracePeriod = 10 * time.Minute
)

// Hub is what the collector knows of the runs of its hub.
type Hub struct {
	ID    string        // its identity: whose objects are looked at
	Cache client.Reader // knows most runs that live; what it does not know is asked of Live
	Live  client.Reader
	Now   func() time.Time
}

// Leak is an object that no run needs.
type Leak struct {
	Object
	Why string // that it is a leak
}

// Namespaces are those in which runs may live.
func (h Hub) Namespaces(ctx context.Context) ([]string, error) {
	return watch.RunNamespaces(ctx, h.Cache)
}

// Served are those of them from which runs may go to a target: the target's queue is there. In others it grants no
// rights.
func (h Hub) Served(ctx context.Context, target string) ([]string, error) {
	names, err := h.Namespaces(ctx)
	if err != nil {
		return nil, err
	}
	var queues kueue.LocalQueueList
	if err := h.Cache.List(ctx, &queues, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing queues: %w", err)
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return !slices.ContainsFunc(queues.Items, func(q kueue.LocalQueue) bool {
			return q.Namespace == name &&
				q.Name == target
		})
	}), nil
}

// Find returns the leaks in some namespaces of a target. One that cannot be looked at is an error beside the leaks of
// the others.
func (h Hub) Find(ctx context.Context, c client.Client, target string, namespaces []string) ([]Leak, error) {
	if h.ID == "" {
		return nil,
			errors.New(
				"looking for what runs have left: the identity of the hub is not known, by which its objects are told from " +
					"those of others")
	}
	var out []Leak
	var errs []error
	for _, namespace := range namespaces {
		leaks, err := h.findIn(ctx, c, target, namespace)
		out = append(out, leaks...)
		if err != nil {
			errs = append(errs, fmt.Errorf("looking at namespace %q: %w", namespace, err))
		}
	}
	return out, errors.Join(errs...)
}

// findIn lists the objects first and asks for their runs then: a run that made one of them was there before.
func (h Hub) findIn(ctx context.Context, c client.Client, target, namespace string) ([]Leak, error) {
	all, err := List(ctx, c, target, h.ID, namespace, ByHub(h.ID))
	if err != nil {
		return nil, err
	}
	var out []Leak
	why := map[string]string{} // by run; "" for one that lives
	for _, o := range all {
		if h.Now().Sub(o.CreationTimestamp.Time) < MinAge {
			continue
		}
		reason, known := why[o.Run()]
		if !known {
			if reason, err = h.dead(ctx, namespace, o.Run()); err != nil {
				return out, err
			}
			why[o.Run()] = reason
		}
		if reason != "" {
			out = append(out, Leak{o, reason})
		}
	}
	return out, nil
}

// dead says why nothing of a run can be needed, "" for one that lives.
func (h Hub) dead(ctx context.Context, namespace, id string) (string, error) {
	if runs, err := attempts(ctx, h.Cache, namespace, id); err == nil && slices.ContainsFunc(runs, h.lives) {
		return "", nil
	}
	runs, err := attempts(ctx, h.Live, namespace, id)
	if err != nil {
		return "", fmt.Errorf("looking for run %q: %w", id, err)
	}
	switch {
	case slices.ContainsFunc(runs, h.lives):
		return "", nil
	case len(runs) == 0:
		return fmt.Sprintf("there is no run %q", id), nil
	default:
		return fmt.Sprintf("run %q ended %s ago", id, h.Now().Sub(run.EndedAt(&runs[len(runs)-1])).Round(time.Minute)), nil
	}
}

// attempts are the PipelineRuns of a run. The first one may not carry its label yet.
func attempts(ctx context.Context, c client.Reader, namespace, id string) ([]tektonv1.PipelineRun, error) {
	var list tektonv1.PipelineRunList
	if err := c.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{contract.LabelRun: id}); err != nil {
		return nil, err
	}
	first := tektonv1.PipelineRun{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: id}, &first)
	if apierrors.IsNotFound(err) {
		return list.Items, nil
	}
	return append([]tektonv1.PipelineRun{first}, list.Items...), err
}

// lives says whether somebody else looks after what is left of a run: its tasks, or those who release it, who know only
// runs that the compiler has marked.
func (h Hub) lives(pr tektonv1.PipelineRun) bool {
	switch {
	case !run.Over(&pr):
		return true
	case run.Ours(&pr) && run.Holding(&pr):
		return true
	}
	ended := run.EndedAt(&pr)
	if at, err := time.Parse(time.RFC3339, pr.Annotations[contract.AnnotationReleased]); err == nil && at.After(ended) {
		ended = at
	}
	return h.Now().Sub(ended) < GracePeriod
}

// DeleteLeaks deletes leaks, of each run owners first. deleted is called for each.
func DeleteLeaks(ctx context.Context, c client.Client, leaks []Leak, deleted func(Object)) error {
	type id struct{ namespace, run string }
	groups := map[id][]Object{}
	var order []id
	for _, l := range leaks {
		of := id{l.Namespace, l.Run()}
		if groups[of] == nil {
			order = append(order, of)
		}
		groups[of] = append(groups[of], l.Object)
	}
	var errs []error
	for _, of := range order {
		errs = append(errs, Delete(ctx, c, groups[of], deleted))
	}
	return errors.Join(errs...)
}

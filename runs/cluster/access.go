package cluster

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Access is the way of a command to its cluster, which is opened when it is first needed.
type Access struct {
	// Open connects to the cluster, and says in which namespaces a run may be: "" stands for all.
	Open    func(ctx context.Context) (c *Cluster, namespaces []string, err error)
	Copies  Copies
	NewName func(base string) string // names a new run

	opened     bool
	cluster    *Cluster
	namespaces []string
	err        error // one that is away is waited for once
}

func (a *Access) connect(ctx context.Context) (*Cluster, []string, error) {
	if !a.opened {
		a.opened = true
		a.cluster, a.namespaces, a.err = a.Open(ctx)
	}
	return a.cluster, a.namespaces, a.err
}

// inNamespaces lists all namespaces where that is allowed, else those of which one after another may be listed. denied
// is why the last of them was not.
func inNamespaces[T any](namespaces []string, list func(namespace string) ([]T, error)) (found []T, denied, err error) {
	for _, namespace := range namespaces {
		more, err := list(namespace)
		switch {
		case apierrors.IsForbidden(err):
			denied = errors.Join(denied, err)
			continue
		case err != nil:
			return nil, nil, err
		}
		found, denied = append(found, more...), nil
		if namespace == "" {
			break
		}
	}
	return found, denied, nil
}

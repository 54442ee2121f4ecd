package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// Kind is how runs of a kind are found.
type Kind interface {
	// Find returns the run of a name, or of the only start of one, and *NotFoundError where there is none or several.
	Find(ctx context.Context, name string) (Run, error)
	// List returns a row for each run; with all also for those that the row of a matrix stands for.
	List(ctx context.Context, all bool) ([]Status, error)
	// NamesOf are the names that a shell completes: what cannot be read has none to offer.
	NamesOf(ctx context.Context) []string
}

// Keeper is a Kind whose results may be on this machine already, so that nobody has to be asked.
type Keeper interface {
	// Kept is the folder with all results of the run of a name, or of the only start of one.
	Kept(name string) (dir string, ok bool)
}

// Remainder is a Kind that knows what is left of runs that were deleted, and that nobody lets go.
type Remainder interface {
	// FindLeft returns what is left of the run of a whole name, and *NotFoundError where nothing is.
	FindLeft(ctx context.Context, name string) (Run, error)
}

// Registry holds the kinds of runs, in the order in which a name is looked for.
type Registry struct {
	Local        []Kind // whose runs live on this machine
	Cluster      []Kind // whose runs live on a cluster
	ClusterKnown bool   // something says which cluster is meant
}

// Where says where a run is looked for.
type Where struct{ Local, Cluster bool }

// Find looks for a run by its name, or by the only start of one: on this machine and then, where one is known, on the
// cluster.
func (r *Registry) Find(ctx context.Context, name string, where Where) (Run, error) {
	if err := requireName(name); err != nil {
		return nil, err
	}
	if !where.Local {
		return find(ctx, r.Cluster, name)
	}
	run, missing := find(ctx, r.Local, name)
	if missing == nil || !where.Cluster || !r.ClusterKnown {
		return run, missing
	}
	run, err := find(ctx, r.Cluster, name)
	if err == nil {
		return run, nil
	}
	var there *NotFoundError
	if errors.As(err, &there) {
		return nil, step.Exit(contract.ExitUsage, &shortError{missing, fmt.Sprintf("; %s: %s", there.Where, there.Why)})
	}
	return nil, step.Exit(step.Code(err), fmt.Errorf("%w; and %w", &shortError{missing, ""}, err))
}

// requireName refuses an empty name: it begins every name there is, and a variable that is not set must not stand for
// the one run.
func requireName(name string) error {
	if name == "" {
		return step.Usagef("reading arguments: the name of the run is empty; see bflow list")
	}
	return nil
}

// FindLeft is Find, and where no run of the cluster has that very name finds what is left of one that was deleted. For
// a run of this machine no cluster is asked.
func (r *Registry) FindLeft(ctx context.Context, name string, where Where) (Run, error) {
	if where.Local && name != "" {
		if run, err := find(ctx, r.Local, name); err == nil {
			return run, nil
		}
	}
	run, err := r.Find(ctx, name, where)
	whole := err == nil && slices.Contains(run.Names(), name)
	if name == "" || whole || !where.Cluster || where.Local && !r.ClusterKnown {
		return run, err
	}
	for _, k := range r.Cluster {
		if kind, ok := k.(Remainder); ok {
			if left, err := kind.FindLeft(ctx, name); err == nil {
				return left, nil
			}
		}
	}
	return run, err
}

// shortError is an error that says more than where to look next.
type shortError struct {
	error
	more string
}

func (e *shortError) Error() string { return strings.TrimSuffix(e.error.Error(), seeList) + e.more }
func (e *shortError) Unwrap() error { return e.error }

// find asks one kind after another, and returns the error of the first that has something to say.
func find(ctx context.Context, kinds []Kind, name string) (Run, error) {
	var missing error
	for _, k := range kinds {
		run, err := k.Find(ctx, name)
		if err == nil {
			return run, nil
		}
		if silent := new(NotFoundError); missing == nil && (!errors.As(err, &silent) || silent.Why != "") {
			missing = err
		}
	}
	if missing == nil {
		missing = &NotFoundError{Name: name, Why: "no such run" + seeList}
	}
	if none := new(NotFoundError); errors.As(missing, &none) {
		return nil, step.Exit(contract.ExitUsage, missing)
	}
	return nil, missing
}

// Results brings the results of one run to this machine, wherever it lives. Those that are here already are asked for
// nowhere.
func (r *Registry) Results(ctx context.Context, on Console, name string, where Where) (dir string, err error) {
	if err := requireName(name); err != nil {
		return "", err
	}
	if where.Local {
		if run, err := find(ctx, r.Local, name); err == nil && Single(run) == nil {
			return only(run.Results(ctx, on))
		}
	}
	if where.Cluster {
		if dir, ok := kept(r.Cluster, name); ok {
			return dir, nil
		}
	}
	run, err := r.Find(ctx, name, where)
	if err == nil {
		err = Single(run)
	}
	if err != nil {
		return "", err
	}
	return only(run.Results(ctx, on))
}

func kept(kinds []Kind, name string) (string, bool) {
	for _, k := range kinds {
		if keeper, ok := k.(Keeper); ok {
			if dir, ok := keeper.Kept(name); ok {
				return dir, true
			}
		}
	}
	return "", false
}

// only is the one folder of the results of a run.
func only(results Results, err error) (string, error) {
	if err != nil || len(results.Dirs) == 0 {
		return "", err
	}
	return results.Dirs[0], nil
}

// List returns a row for each run of kinds, up to the first kind that cannot list all of its own: its error comes
// beside what could be listed.
func List(ctx context.Context, kinds []Kind, all bool) ([]Status, error) {
	rows := []Status{} // which programs read as a list, also where it is empty
	for _, k := range kinds {
		more, err := k.List(ctx, all)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

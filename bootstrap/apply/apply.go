package apply

import (
	"context"
	stderrors "errors"
	"fmt"
	"strings"
	"time"

	"bflow.dev/bflow/internal/kube"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Options configures a write.
type Options struct {
	DryRun bool                  // the server checks and answers, and stores nothing
	Force  bool                  // take fields that somebody else owns
	Keep   func(Ref, Field) bool // fields of others that stay even so; nil = none
	Say    func(string)          // called with the reason when a write has to wait; may be nil
}

// Action is what a write did to an object.
type Action string

// What a write did.
const (
	Created   Action = "created"
	Changed   Action = "changed"
	Unchanged Action = "unchanged"
)

// Change is an object before and after a write. Before is nil if it did not exist.
type Change struct {
	Ref
	Action        Action
	Before, After *unstructured.Unstructured
	Kept          []Kept // fields of others that stayed as they were
	Unchecked     bool   // a dry run that the server could not check, because the namespace or the CRD does not exist yet
}

// ConflictError means that somebody else owns fields with other values than those to be written.
type ConflictError struct {
	Ref
	Fields []string // "MANAGER: .spec.replicas"
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf(
		"applying %s: other field managers own fields of it (%s); revert their changes, or take ownership with "+
			"--force-conflicts", e.Ref, strings.Join(e.Fields, "; "))
}

// writeTimeout bounds a write whose ctx has no deadline: an upgrade of a control plane takes minutes.
const writeTimeout = 5 * time.Minute

// Apply writes one object under our field manager. Transient errors (a webhook that has just started, a server that is
// busy or away) are retried once a second until ctx ends, or for writeTimeout.
func (c *Cluster) Apply(ctx context.Context, obj *unstructured.Unstructured, o Options) (Change, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.writeTimeout)
		defer cancel()
	}
	began := time.Now()
	var change Change
	err := kube.Retry(ctx, kube.Pause, func() (err error) {
		change, err = c.apply(ctx, obj, o)
		return err
	}, func(err error) bool {
		again := !o.DryRun && isTransient(err)
		if again && o.Say != nil && time.Since(began) >= reasonTime {
			o.Say(err.Error())
		}
		return again
	})
	return change, err
}

// apply finds out by a dry run whether an existing object would change, and writes only then. The server itself would
// count another order of field managers, which depends on the clock, as a change.
func (c *Cluster) apply(ctx context.Context, obj *unstructured.Unstructured, o Options) (Change, error) {
	ref := RefOf(obj)
	before, err := c.Get(ctx, ref)
	if err != nil {
		return Change{}, err
	}
	obj, kept, err := keepOthers(obj, before, c.manager, o.Keep)
	if err != nil {
		return Change{}, err
	}
	at, err := c.at(ref)
	if o.DryRun && meta.IsNoMatchError(err) {
		return Change{Ref: ref, Action: Created, After: obj, Unchecked: true}, nil
	}
	if err != nil {
		return Change{}, fmt.Errorf("applying %s: %w", ref, err)
	}
	put := func(dry bool) (*unstructured.Unstructured, error) {
		var answer unstructured.Unstructured
		err := c.api.Apply(ctx, at, obj, &answer, kube.Write{Manager: c.manager, Force: o.Force, DryRun: dry})
		return &answer, err
	}
	after, err := before, error(nil)
	if before != nil || o.DryRun {
		after, err = put(true)
	}
	if !o.DryRun && (before == nil || err != nil || !isSame(before, after)) {
		after, err = put(false)
	}
	switch {
	case err == nil:
		return Change{Ref: ref, Action: action(before, after), Before: before, After: after, Kept: kept}, nil
	case o.DryRun && kube.IsMissing(err):
		return Change{Ref: ref, Action: Created, After: obj, Unchecked: true}, nil
	case errors.IsConflict(err):
		return Change{}, conflict(ref, err)
	case isTransient(err) && hasFields(obj.Object, before):
		// The webhook for this object is down, perhaps because of an object that comes later in this set.
		return Change{Ref: ref, Action: Unchanged, Before: before, After: before}, nil
	}
	return Change{}, fmt.Errorf("applying %s: %w", ref, err)
}

func action(before, after *unstructured.Unstructured) Action {
	switch {
	case before == nil:
		return Created
	case isSame(before, after):
		return Unchanged
	}
	return Changed
}

// conflict turns the answer of the server into an error that names fields and managers.
func conflict(ref Ref, err error) error {
	var status *errors.StatusError
	if !stderrors.As(err, &status) || status.ErrStatus.Details == nil {
		return fmt.Errorf("applying %s: %w", ref, err)
	}
	e := &ConflictError{Ref: ref}
	for _, cause := range status.ErrStatus.Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			e.Fields = append(e.Fields, strings.TrimPrefix(cause.Message, "conflict with ")+": "+cause.Field)
		}
	}
	if len(e.Fields) == 0 {
		return fmt.Errorf("applying %s: %w", ref, err)
	}
	return e
}

// isTransient reports whether an error passes by itself. The server reports a webhook that it cannot reach as an
// internal error; others of these stay.
func isTransient(err error) bool {
	return kube.IsTransient(err) && (!errors.IsInternalError(err) || kube.IsWebhookAway(err))
}

// hasFields reports whether an object exists and has every field of want with its value.
func hasFields(want map[string]any, have *unstructured.Unstructured) bool {
	return have != nil && contains(have.Object, want)
}

func contains(have, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		for key, value := range want {
			ok = ok && contains(have[key], value)
		}
		return ok
	case []any:
		have, ok := have.([]any)
		ok = ok && len(have) == len(want)
		for i := 0; ok && i < len(want); i++ {
			ok = contains(have[i], want[i])
		}
		return ok
	}
	return have == want
}

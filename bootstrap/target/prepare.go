package target

import (
	"context"
	"errors"
	"io"
	"maps"
	"strings"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/runplan/contract"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// manager is the field manager on targets. It differs from that of bootstrap, because a target may be a hub as
	// well.
	manager = "bflow-target"
	// hubPrefix is the prefix of annotations on a namespace that name the hubs using it, by identity.
	hubPrefix = contract.Prefix + "hub-"
	// annotationMade marks a namespace that we have created, and may delete.
	annotationMade = contract.Prefix + "made"
)

// Result counts what was written.
type Result struct{ Objects, Created, Changed int }

// Prepare writes the objects of a target for a hub that knows it by a name. A dry run only checks them, and writes to
// diff what would change.
func (c *Cluster) Prepare(ctx context.Context, objects []*unstructured.Unstructured, hub, name string, dry bool,
	diff io.Writer) (Result, error) {
	result := Result{Objects: len(objects)}
	for _, phase := range apply.Phases(objects) {
		var problems []error
		for _, o := range phase {
			change, err := c.put(ctx, o, hub, name, dry)
			if err != nil {
				problems = append(problems, c.explain("preparing the target", err))
				continue
			}
			switch change.Action {
			case apply.Created:
				result.Created++
			case apply.Changed:
				result.Changed++
			}
			if dry {
				if _, err := io.WriteString(diff, change.Diff()); err != nil {
					return result, err
				}
			}
		}
		if err := errors.Join(problems...); err != nil {
			return result, firstError(problems)
		}
	}
	return result, nil
}

// firstError returns one error for all: whoever may not create one object may not create the others.
func firstError(problems []error) error {
	for _, err := range problems {
		if err != nil {
			return err
		}
	}
	return nil
}

// put writes one object, and keeps what other hubs, and others, have written to it.
func (c *Cluster) put(ctx context.Context, o *unstructured.Unstructured, hub, name string,
	dry bool) (apply.Change, error) {
	o = o.DeepCopy()
	live, err := c.objects.Get(ctx, apply.RefOf(o))
	if err != nil {
		return apply.Change{}, err
	}
	if live != nil && live.GetLabels()[contract.LabelHub] != "" { // the label of the first hub stays
		mergeInto(o.GetLabels, o.SetLabels, map[string]string{contract.LabelHub: live.GetLabels()[contract.LabelHub]})
	}
	if o.GetKind() == "Namespace" {
		markShared(o, live, hub, name)
	}
	return c.objects.Apply(ctx, o, apply.Options{DryRun: dry, Force: o.GetKind() != "Namespace"})
}

// markShared lets a namespace say which hubs use it. A namespace that existed before keeps its own Pod Security.
func markShared(o, live *unstructured.Unstructured, hub, name string) {
	notes := map[string]string{hubPrefix + hub: name}
	if live == nil || live.GetAnnotations()[annotationMade] != "" {
		notes[annotationMade] = "true"
	} else {
		labels := maps.Clone(o.GetLabels())
		maps.DeleteFunc(labels, func(key, _ string) bool { return strings.HasPrefix(key, "pod-security.kubernetes.io/") })
		o.SetLabels(labels)
	}
	if live != nil {
		for other, calls := range hubsOf(live) {
			if other != hub {
				notes[hubPrefix+other] = calls
			}
		}
	}
	mergeInto(o.GetAnnotations, o.SetAnnotations, notes)
}

func mergeInto(get func() map[string]string, put func(map[string]string), more map[string]string) {
	all := maps.Clone(get())
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, more)
	put(all)
}

// hubsOf returns the hubs that a namespace names, and their names for the target.
func hubsOf(namespace *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	for key, name := range namespace.GetAnnotations() {
		if hub, ok := strings.CutPrefix(key, hubPrefix); ok {
			out[hub] = name
		}
	}
	return out
}

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
	// manager is the field manager on targets: another than that of bootstrap, because a target may be a hub of its own.
	manager = "bflow-target"
	// hubPrefix begins the annotations of a namespace that name the hubs which need it, by identity.
	hubPrefix = contract.Prefix + "hub-"
	// annotationMade is on a namespace that was not there before, and may go.
	annotationMade = contract.Prefix + "made"
)

// Result counts what was written.
type Result struct{ Objects, Created, Changed int }

// Prepare writes the objects of a target for a hub that calls it name. With a dry run the server only checks, and what
// would change goes to diff.
func (c *Cluster) Prepare(ctx context.Context, objects []*unstructured.Unstructured, hub, name string, dry bool, diff io.Writer) (Result, error) {
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

// firstError is enough: whoever may not make one object may not make the others.
func firstError(problems []error) error {
	for _, err := range problems {
		if err != nil {
			return err
		}
	}
	return nil
}

// put writes one object beside what other hubs, and others, have written to it.
func (c *Cluster) put(ctx context.Context, o *unstructured.Unstructured, hub, name string, dry bool) (apply.Change, error) {
	o = o.DeepCopy()
	live, err := c.objects.Get(ctx, apply.RefOf(o))
	if err != nil {
		return apply.Change{}, err
	}
	if live != nil && live.GetLabels()[contract.LabelHub] != "" { // the first hub's stays
		mergeInto(o.GetLabels, o.SetLabels, map[string]string{contract.LabelHub: live.GetLabels()[contract.LabelHub]})
	}
	if o.GetKind() == "Namespace" {
		markShared(o, live, hub, name)
	}
	return c.objects.Apply(ctx, o, apply.Options{DryRun: dry, Force: o.GetKind() != "Namespace"})
}

// markShared lets a namespace tell whose it is. One that was there keeps its own rules for pods.
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

// hubsOf are the hubs that a namespace names, and what they call the target.
func hubsOf(namespace *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	for key, name := range namespace.GetAnnotations() {
		if hub, ok := strings.CutPrefix(key, hubPrefix); ok {
			out[hub] = name
		}
	}
	return out
}

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/runplan/contract"
)

// fieldsToKeep tells which fields that people have set stay as they are: how many and how large, whatever is asked for, and what
// else is set by kubectl set and in ConfigMaps, unless force takes it.
func fieldsToKeep(force bool) func(apply.Ref, apply.Field) bool {
	const container = ".spec.template.spec.containers[]"
	return func(ref apply.Ref, f apply.Field) bool {
		switch ref.GroupKind().String() {
		case "Deployment.apps":
			size := f == ".spec.replicas" || f.Under(container+".resources")
			return size || !force && (f.Under(container+".image") || f.Under(container+".env"))
		case "HorizontalPodAutoscaler.autoscaling":
			return f == ".spec.minReplicas" || f == ".spec.maxReplicas"
		case "ConfigMap":
			size := ref.Name == contract.ConfigMapHub && f == ".data."+contract.HubLoadCPU
			return size || !force && f.Under(".data")
		}
		return false
	}
}

// applyOptions says how the objects of a component are written. What is taken over for the first time is taken as a whole.
func (s survey) applyOptions(p Part) apply.Options {
	adopting := s.options.Adopt && p.Key != partBflow
	o := apply.Options{Force: s.options.Force || adopting, Keep: fieldsToKeep(s.options.Force)}
	if slices.Contains(s.adopted, p.Key) {
		o.Keep = nil
	}
	return o
}

// printKept tells of fields that stay as people have set them.
func (h *Hub) printKept(all []apply.Kept, force bool) {
	for _, k := range all {
		text := k.String()
		if !force && !fieldsToKeep(true)(k.Ref, k.Path) {
			text += "; --force-conflicts takes it"
		}
		h.printNote("%s", text)
	}
}

// checkConflicts asks for every object what the server would answer, so that an installation that cannot finish ends before it
// has changed anything. What a server cannot tell before (a kind is yet to be made, a webhook is down) is no reason.
func (h *Hub) checkConflicts(ctx context.Context, s survey) error {
	var problems []error
	for _, p := range s.parts {
		options := s.applyOptions(p)
		options.DryRun = true
		for _, o := range p.Objects {
			_, err := h.cluster.Apply(ctx, o, options)
			var conflict *apply.ConflictError
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.As(err, &conflict), apierrors.IsForbidden(err):
				problems = append(problems, err)
			}
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("it could not finish, so nothing was changed: %w", errors.Join(problems...))
	}
	return nil
}

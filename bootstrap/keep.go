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

// fieldsToKeep returns which fields that people have set stay as they are: always replicas and resources; images,
// environment and ConfigMaps unless force takes them.
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

// applyOptions returns how the objects of a part are written. What is being taken over is overwritten completely.
func (s survey) applyOptions(p Part) apply.Options {
	adopting := s.options.Adopt && p.Key != partBflow
	o := apply.Options{Force: s.options.Force || adopting, Keep: fieldsToKeep(s.options.Force)}
	if slices.Contains(s.adopted, p.Key) {
		o.Keep = nil
	}
	return o
}

// kept prints which fields stay as people have set them.
func (p printer) kept(all []apply.Kept, force bool) {
	for _, k := range all {
		text := k.String()
		if !force && !fieldsToKeep(true)(k.Ref, k.Path) {
			text += "; --force-conflicts takes ownership of it"
		}
		p.note("%s", text)
	}
}

// checkConflicts sends every object as a dry run, so that an installation that cannot finish fails before it has
// changed anything. Errors that a dry run cannot avoid (a CRD that does not exist yet, a webhook that is down) are
// ignored.
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

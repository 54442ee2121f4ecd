package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// choice tells the controller which targets a run may go to, and by what it knows that one has what the run needs.
func choice(plan *runplan.RunPlan) map[string]string {
	t := plan.Target
	if len(t.AnyOf) == 0 && len(t.Selector) == 0 {
		return nil
	}
	out := map[string]string{contract.AnnotationCacheKey: cacheKey(plan)}
	if len(t.AnyOf) > 0 {
		out[contract.AnnotationTargets] = strings.Join(t.AnyOf, ",")
	}
	if len(t.Selector) > 0 {
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(t.Selector)) {
			pairs = append(pairs, key+"="+t.Selector[key])
		}
		out[contract.AnnotationTargetSelector] = strings.Join(pairs, ",")
	}
	return out
}

// cacheKey is the same for runs that need the same weights and image of the engine.
func cacheKey(plan *runplan.RunPlan) string {
	d := plan.Deployment
	sum := sha256.Sum256([]byte(mustJSON([]string{d.Engine.Kind, d.Engine.Image, d.Model.Name, d.Model.Revision})))
	return hex.EncodeToString(sum[:6])
}

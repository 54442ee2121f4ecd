package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Covered returns an error where the plan takes more devices on its platform than its run has asked its queue for:
// annotation is the JSON of contract.AnnotationRequests. GPUs that nobody granted may be those of another run.
func Covered(plan *runplan.RunPlan, where *platform.Platform, annotation string) error {
	devices, err := where.Requests(&plan.Deployment)
	if err != nil {
		return fmt.Errorf("deploying %q: %w", plan.Name, err)
	}
	granted := map[string]string{}
	if annotation != "" {
		if err := json.Unmarshal([]byte(annotation), &granted); err != nil {
			return fmt.Errorf("reading the requests of the run %q: %w", annotation, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		need := int64(devices[name])
		have, err := resource.ParseQuantity(orElse(granted[name], "0"))
		if err != nil {
			return fmt.Errorf("reading the requests of the run: %s is %q: %w", name, granted[name], err)
		}
		if have.CmpInt64(need) < 0 {
			return fmt.Errorf("deploying %q: it needs %d %s, but the run has requested %s; compile the experiment again",
				plan.Name, need, name, have.String())
		}
	}
	return nil
}

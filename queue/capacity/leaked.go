package capacity

import (
	"context"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/target"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// LeakedOf returns what pods of this hub hold on targets, by target, though their runs have no right to it. A target
// that is out of sight is left out.
func LeakedOf(cache client.Reader, targets *target.Registry,
	hub string) func(context.Context) map[string]devices.Amounts {
	return func(ctx context.Context) map[string]devices.Amounts {
		owner, err := Owner(ctx, cache, hub)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "looking for leaked devices")
			return nil
		}
		out := map[string]devices.Amounts{}
		for _, t := range targets.All() {
			if t.Sight == nil || !t.Sight.Ready() {
				continue
			}
			if inventory, err := t.Sight.Inventory(ctx, owner); err == nil && len(inventory.Leaked()) > 0 {
				out[t.Name] = inventory.Leaked()
			}
		}
		return out
	}
}

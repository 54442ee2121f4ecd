package check

import (
	"context"
	"fmt"

	"github.com/tektoncd/pipeline/pkg/apis/config"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// flags returns the feature flags we install; those not named keep Tekton's default.
func flags() map[string]string {
	return map[string]string{
		"enable-api-fields":    "beta",
		"set-security-context": "true",
	}
}

func pinnedConfig() (*config.Config, error) {
	defaults, err := config.NewDefaultsFromMap(nil)
	if err != nil {
		return nil, fmt.Errorf("reading Tekton's defaults: %w", err)
	}
	features, err := config.NewFeatureFlagsFromMap(flags())
	if err != nil {
		return nil, fmt.Errorf("reading Tekton's feature flags: %w", err)
	}
	return &config.Config{Defaults: defaults, FeatureFlags: features}, nil
}

// admit does what Tekton's webhooks do, on a copy: defaults first, because validation of a timeout that is not set
// compares the default as nanoseconds.
func (c *Checker) admit(ctx context.Context, r resource) error {
	ctx = config.ToContext(ctx, c.tekton)
	admitted, ok := r.DeepCopyObject().(resource)
	if !ok {
		return fmt.Errorf("a copy of %T is another type", r)
	}
	if run, ok := admitted.(*tektonv1.PipelineRun); ok && run.Name == "" {
		run.Name = run.GenerateName + "abcde" // as the server would
	}
	admitted.SetDefaults(ctx)
	// A *FieldError that is nil must not become an error that is not.
	if err := admitted.Validate(ctx); err != nil {
		return err
	}
	return nil
}

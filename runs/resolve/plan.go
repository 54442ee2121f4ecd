package resolve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/mlflow"
	"bflow.dev/bflow/tasks/step"
)

// ReadPlan reads the file of a plan.
func ReadPlan(path string) (*runplan.RunPlan, error) {
	data, err := bounded.ReadFile(path, MaxFile)
	if err != nil {
		return nil, step.Usagef("reading plan: %w", err)
	}
	return decode(path, data)
}

// TrackedPlan is the plan that an MLflow run has kept; missing says what was looked for before, and is the error where
// no tracking server is known.
func TrackedPlan(ctx context.Context, run string, missing error) (*runplan.RunPlan, error) {
	client, err := mlflow.NewClient(os.Getenv, 10*time.Second)
	if err != nil || client == nil {
		return nil, errors.Join(err, missing)
	}
	data, err := client.Artifact(ctx, run, contract.FilePlan)
	if err != nil {
		return nil, fmt.Errorf("%w; %w", missing, err)
	}
	return decode(run, data)
}

// CheckPlatform returns an error for a plan that runs whose platform bflow does not know or cannot deploy yet.
func CheckPlatform(p *runplan.RunPlan) error {
	if text := plan.RejectUndeployable.Says(p, platform.All()); text != "" {
		return step.Usagef("running plan %q: %s", p.Name, text)
	}
	return nil
}

func decode(name string, data []byte) (*runplan.RunPlan, error) {
	plan, err := runplan.Decode(data)
	if err != nil {
		return nil, step.Usagef("reading plan %q: %w", name, err)
	}
	return plan, nil
}

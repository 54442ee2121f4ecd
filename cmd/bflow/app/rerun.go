package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/mlflow"
	"bflow.dev/bflow/tasks/runplan"
	"bflow.dev/bflow/tasks/step"
)

func rerunCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:        "rerun",
		Usage:       "make a new run of the same plan",
		ArgsUsage:   "RUN|HASH|PLAN.json|MLFLOW-RUN-ID",
		Description: "HASH is the start (8 characters or more) of a plan's hash. A run of MLflow is looked up at MLFLOW_TRACKING_URI.",
		Flags:       []cli.Flag{runsDirFlag(), plainFlag()},
		Action: func(c *cli.Context) error {
			what, err := oneArg(c, "run, plan hash, plan file or MLflow run id")
			if err != nil {
				return err
			}
			plan, err := findPlan(c, what)
			if err != nil {
				return err
			}
			return runLocal(c, s, []*runplan.RunPlan{plan}, compile.Options{Version: step.Version, Input: "plan " + plan.Digest}, nil)
		},
	}
}

// findPlan looks for a plan file, a run of that name, a run whose plan has that hash, and an MLflow run, in this order.
func findPlan(c *cli.Context, what string) (*runplan.RunPlan, error) {
	if info, err := os.Stat(what); err == nil && info.Mode().IsRegular() {
		return readPlan(what)
	}
	dir, missing := runDir(c, what)
	if missing == nil {
		return runplan.Read(dir)
	}
	plan, err := byHash(c, what)
	if plan != nil || err != nil {
		return plan, err
	}
	client, err := mlflow.NewClient(os.Getenv, 10*time.Second)
	if err != nil || client == nil {
		return nil, errors.Join(err, missing)
	}
	data, err := client.Artifact(c.Context, what, contract.FilePlan)
	if err != nil {
		return nil, fmt.Errorf("%w; %w", missing, err)
	}
	return decodePlan(what, data)
}

func readPlan(path string) (*runplan.RunPlan, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, step.Usagef("reading plan: %w", err)
	}
	return decodePlan(path, data)
}

func decodePlan(name string, data []byte) (*runplan.RunPlan, error) {
	plan, err := runplan.Decode(data)
	if err != nil {
		return nil, step.Usagef("reading plan %q: %w", name, err)
	}
	return plan, nil
}

// byHash returns the plan of a local run whose hash begins with prefix, or nil.
func byHash(c *cli.Context, prefix string) (*runplan.RunPlan, error) {
	if len(prefix) < 8 || strings.Trim(prefix, "0123456789abcdef") != "" {
		return nil, nil
	}
	root, err := runsDir(c)
	if err != nil {
		return nil, err
	}
	names, err := runNames(root)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		plan, err := runplan.Read(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && strings.HasPrefix(plan.Hash, prefix) {
			return plan, nil
		}
	}
	return nil, nil
}

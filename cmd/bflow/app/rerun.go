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

	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/mlflow"
	"bflow.dev/bflow/tasks/step"
)

func rerunCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "rerun",
		Usage:     "start a new run of the same plan, or a new matrix of the same points",
		ArgsUsage: "RUN|HASH|PLAN.json|MLFLOW-RUN-ID",
		Description: "HASH is the first 8 or more characters of a plan hash. An MLflow run is looked up at MLFLOW_TRACKING_URI.\n" +
			"A cluster run runs on the cluster again, with the same queue and Pipeline; anything else runs on this machine. --local and --cluster override this.",
		Flags: append(submitFlags(append(kubeFlags(), runsDirFlag(), plainFlag(), secretFlag(),
			&cli.BoolFlag{Name: "local", Usage: "run on this machine"},
			&cli.BoolFlag{Name: "cluster", Usage: "run on the cluster"},
			&cli.BoolFlag{Name: "failed", Usage: "only the points of a matrix that did not succeed"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "on a cluster: wait until the run ends, and exit with its code"})...),
			&cli.StringFlag{Name: "image-prefix", Usage: "registry and path of task images that the plan does not name"}),
		Action: func(c *cli.Context) error {
			what, err := oneArg(c, "run, plan hash, plan file or MLflow run id")
			if err != nil {
				return err
			}
			if m := pointsToRepeat(c, what); m != nil {
				return rerunPoints(c, s, m)
			}
			plan, from, err := findPlan(c, what)
			if err != nil {
				return err
			}
			if from.matrix != nil {
				return rerunMatrix(c, s, from)
			}
			if c.Bool("failed") {
				return step.Usagef("reading flags of \"rerun\": --failed is for a matrix, and %s is one run", what)
			}
			if from.run != nil && !c.Bool("local") {
				return rerunCluster(c, s, from)
			}
			opt := compileOptions(c, input{sum: "plan " + plan.Digest})
			if c.Bool("cluster") {
				if err := runplan.Move(plan, c.String("namespace")); err != nil {
					return step.Exit(contract.ExitUsage, err)
				}
				return runCluster(c, s, []*runplan.RunPlan{plan}, opt, nil)
			}
			return runLocal(c, s, []*runplan.RunPlan{plan}, opt, nil)
		},
	}
}

// pointsToRepeat is the matrix of this machine that what names, nil where it names a file or a run, or where the cluster
// is asked for one of its own.
func pointsToRepeat(c *cli.Context, what string) *points {
	if _, err := os.Stat(what); err == nil || c.Bool("cluster") {
		return nil
	}
	if _, err := runDir(c, what); err == nil {
		return nil
	}
	m, _ := findPoints(c, what) // whoever looks next says what is wrong
	return m
}

func rerunPoints(c *cli.Context, s Streams, m *points) error {
	plans, err := m.plans(c.Bool("failed"))
	if err != nil {
		return err
	}
	if len(plans) == 0 {
		fmt.Fprintf(s.Err, "every point of %s succeeded; there is nothing to run again\n", m.name)
		return nil
	}
	return runLocal(c, s, plans, compileOptions(c, input{sum: "plans of " + m.name}), nil)
}

// findPlan looks for a plan file, a run of this machine of that name, one whose plan has that hash, a run of the cluster,
// and an MLflow run, in this order. The place is that of a run of the cluster.
func findPlan(c *cli.Context, what string) (*runplan.RunPlan, place, error) {
	if info, err := os.Stat(what); err == nil && info.Mode().IsRegular() {
		plan, err := readPlan(what)
		return plan, place{}, err
	}
	dir, missing := runDir(c, what)
	if missing == nil {
		plan, err := runplan.Read(dir)
		return plan, place{}, err
	}
	plan, err := byHash(c, what)
	if plan != nil || err != nil {
		return plan, place{}, err
	}
	if clusterAsked(c) || clusterKnown(c) {
		plan, p, err := fromCluster(c, what)
		if err == nil {
			return plan, p, nil
		}
		missing = fmt.Errorf("%w; %w", missing, err)
	}
	plan, err = fromMLflow(c, what, missing)
	return plan, place{}, err
}

// fromCluster is the plan of a run on the cluster.
func fromCluster(c *cli.Context, what string) (*runplan.RunPlan, place, error) {
	p, err := onCluster(c, what)
	if err != nil || p.matrix != nil {
		return nil, p, err
	}
	text, err := p.cluster.Plan(c.Context, p.run)
	if err != nil {
		return nil, p, err
	}
	plan, err := decodePlan(what, text)
	return plan, p, err
}

// fromMLflow is the plan that an MLflow run has kept; missing says what was looked for before.
func fromMLflow(c *cli.Context, what string, missing error) (*runplan.RunPlan, error) {
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
	data, err := bounded.ReadFile(path, maxInput)
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

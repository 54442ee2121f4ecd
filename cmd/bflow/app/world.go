package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/urfave/cli/v2"
	"k8s.io/client-go/tools/clientcmd"

	"bflow.dev/bflow/runplan/contract"
	clusterrun "bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/tasks/step"
)

// defaultNamespace is where the runs of an experiment live that names no namespace.
const defaultNamespace = "benchflow"

// worldFlags say where a run is looked for: first on this machine, then on the cluster.
func worldFlags(more ...cli.Flag) []cli.Flag {
	return append(append([]cli.Flag{runsDirFlag(),
		&cli.BoolFlag{Name: "local", Usage: "look only for runs of this machine"},
		&cli.BoolFlag{Name: "cluster", Usage: "look only for runs of the cluster"},
		&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Usage: "namespace of the run (default: all that you may list)"},
	}, kubeFlags()...), more...)
}

// place is where a run was found: a folder of this machine, or a cluster.
type place struct {
	name    string // as it was asked for
	dir     string // "" = on the cluster
	cluster *clusterrun.Cluster
	run     *clusterrun.Run
	matrix  *clusterrun.Matrix // of several runs; only locateAny finds it
	points  *points            // the same on this machine
}

// placeArg finds the run, or the matrix, that the command's one argument names.
func placeArg(c *cli.Context) (place, error) {
	name, err := oneArg(c, "run")
	if err != nil {
		return place{}, err
	}
	return locateAny(c, name)
}

// locate looks for a run on this machine and then, where a cluster is known, there.
func locate(c *cli.Context, name string) (place, error) {
	p, err := locateAny(c, name)
	if err == nil {
		err = p.single(c)
	}
	return p, err
}

// single refuses a matrix where one run is asked for.
func (p place) single(c *cli.Context) error {
	switch {
	case p.points != nil:
		return p.points.single(c)
	case p.matrix != nil:
		return several(c, p.matrix.Name(), p.matrix.Points(), p.matrix.Child(0))
	}
	return nil
}

// yesFlag lets a verb that destroys take a run by the start of its name.
func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Usage: "accept the start of a name, if only one run matches"}
}

// certain refuses a run that was found by the start of its name only, where it may have been another that was meant.
func (p place) certain(c *cli.Context) error {
	whole := filepath.Base(p.dir)
	switch {
	case p.matrix != nil:
		whole = p.matrix.Name()
	case p.points != nil:
		whole = p.points.name
	case p.run != nil && slices.ContainsFunc(p.run.Attempts, func(pr tektonv1.PipelineRun) bool { return pr.Name == p.name }):
		return nil
	case p.run != nil:
		whole = p.run.ID
	case filepath.Base(p.name) != p.name: // a path is nobody's start
		return nil
	}
	if whole == p.name || c.Bool("yes") {
		return nil
	}
	return step.Usagef("reading arguments of %q: %q is the start of a name; give the full name, %s, or add --yes", c.Command.Name, p.name, whole)
}

// several refuses a matrix where one run is asked for.
func several(c *cli.Context, matrix string, runs int, such string) error {
	return step.Usagef("reading arguments of %q: %s is a matrix of %d runs; name one of them, such as %s", c.Command.Name, matrix, runs, such)
}

// locateAny is locate for commands that know what to do with a matrix.
func locateAny(c *cli.Context, name string) (place, error) {
	if err := named(name, "run"); err != nil {
		return place{}, err
	}
	if c.Bool("local") && c.Bool("cluster") {
		return place{}, step.Usagef("reading flags of %q: --local and --cluster exclude each other", c.Command.Name)
	}
	var missing error
	if !c.Bool("cluster") {
		dir, err := runDir(c, name)
		if err == nil {
			return place{name: name, dir: dir}, nil
		}
		if m, err := findPoints(c, name); err == nil && m != nil {
			return place{name: name, points: m}, nil
		}
		if c.Bool("local") || !clusterKnown(c) {
			return place{}, err
		}
		missing = errors.New(strings.TrimSuffix(err.Error(), "; see bflow list"))
	}
	p, err := onCluster(c, name)
	if err != nil && missing != nil {
		var none *clusterrun.NotFoundError
		if errors.As(err, &none) {
			return p, step.Exit(contract.ExitUsage, fmt.Errorf("%w; %s: %s", missing, none.Where, none.Why))
		}
		return p, step.Exit(step.Code(err), fmt.Errorf("%s; and %w", missing.Error(), err))
	}
	return p, err
}

// onCluster finds a run on the cluster.
func onCluster(c *cli.Context, name string) (place, error) {
	if err := named(name, "run"); err != nil {
		return place{}, err
	}
	cluster, namespaces, err := connect(c)
	if err != nil {
		return place{}, err
	}
	if m, err := cluster.FindMatrix(c.Context, name, namespaces...); err == nil && m != nil {
		return place{name: name, cluster: cluster, matrix: m}, nil
	}
	run, err := cluster.Find(c.Context, name, namespaces...)
	var none *clusterrun.NotFoundError
	if errors.As(err, &none) {
		err = step.Exit(contract.ExitUsage, err)
	}
	return place{name: name, cluster: cluster, run: run}, err
}

// connect opens the cluster that the flags name, and says in which namespaces a run may be: "" stands for all.
func connect(c *cli.Context) (*clusterrun.Cluster, []string, error) {
	cfg, current, err := kubeConfig(c)
	if err != nil {
		return nil, nil, err
	}
	cluster, err := clusterrun.Connect(c.Context, cfg, contextName(c))
	if n := c.String("namespace"); n != "" {
		return cluster, []string{n}, err
	}
	return cluster, slices.Compact([]string{"", current, defaultNamespace}), err
}

// contextName is the name of the cluster's context in the kubeconfig, "" in a pod.
func contextName(c *cli.Context) string {
	if name := c.String("context"); name != "" {
		return name
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.String("kubeconfig")
	if config, err := rules.Load(); err == nil {
		return config.CurrentContext
	}
	return ""
}

// clusterKnown reports whether anything says which cluster is meant. Most laptops know none, and then no verb should
// speak of clusters.
func clusterKnown(c *cli.Context) bool {
	if c.String("kubeconfig") != "" || c.String("context") != "" || os.Getenv("KUBECONFIG") != "" {
		return true
	}
	if home, err := os.UserHomeDir(); err == nil {
		if _, err := os.Stat(filepath.Join(home, ".kube", "config")); err == nil {
			return true
		}
	}
	_, err := os.Stat("/var/run/secrets/kubernetes.io/serviceaccount/token")
	return err == nil && os.Getenv("KUBERNETES_SERVICE_HOST") != ""
}

// clusterAsked reports whether a person spoke of the cluster, so that its absence is an error.
func clusterAsked(c *cli.Context) bool {
	return c.Bool("cluster") || c.IsSet("kubeconfig") || c.IsSet("context") || c.IsSet("namespace")
}

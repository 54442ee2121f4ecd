package app

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	clusterrun "bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/runs/experiment"
	"bflow.dev/bflow/tasks/step"
)

// experimentCommand is the task of Pipeline bflow-experiment.
func experimentCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:   "experiment",
		Usage:  "submit the experiment given by the params of a PipelineRun, and wait for its verdict",
		Hidden: true, // it is for pods
		Description: "The task of Pipeline " + contract.Experiment + ". Reads the params of the PipelineRun that its pod belongs to, submits the runs as bflow run does, " +
			"waits for them and exits with their code. Cancels the runs if the PipelineRun is cancelled.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "kubeconfig", Usage: "path to the kubeconfig (default: $KUBECONFIG, then ~/.kube/config, then --token-dir, then the pod's service account)"},
			&cli.StringFlag{Name: "token-dir", Usage: "folder of the Secret with the token of a service account that may submit runs"},
			&cli.StringFlag{Name: "git-dir", Usage: "folder of the Secret with the credentials for git servers"},
			&cli.StringFlag{Name: "pipelinerun", Usage: "PipelineRun whose params describe what to run; required"},
			&cli.StringFlag{Name: "taskrun", Usage: "name of this TaskRun"},
			&cli.StringFlag{Name: "namespace", Usage: "namespace of the PipelineRun and of the runs; required"},
			&cli.StringFlag{Name: "verdict-result", Usage: "file to write the verdict to"},
			&cli.StringFlag{Name: "runs-result", Usage: "file to write the names of the runs to"},
			&cli.StringFlag{Name: "plan-hashes-result", Usage: "file to write the plan hashes of the runs to"},
		},
		Action: func(c *cli.Context) error {
			if c.String("pipelinerun") == "" || c.String("namespace") == "" {
				return step.Usagef("reading flags of \"experiment\": --pipelinerun is required; this command is a task of Pipeline %s, so start that Pipeline", contract.Experiment)
			}
			// A log has one order, which two pipes do not keep.
			said := Streams{In: s.In, Out: s.Err, Err: s.Err}
			e := &expedition{s: said, taskRun: c.String("taskrun"), gitDir: c.String("git-dir"),
				results: experiment.Results{Verdict: c.String("verdict-result"), Runs: c.String("runs-result"), PlanHashes: c.String("plan-hashes-result")}}
			if err := e.begin(c); err != nil {
				return err
			}
			return e.run(c.Context)
		},
	}
}

// expedition is one experiment that a PipelineRun asks for.
type expedition struct {
	s               Streams
	taskRun, gitDir string
	results         experiment.Results

	cluster *clusterrun.Cluster
	parent  *clusterrun.Parent
	request experiment.Request
	source  string // where the file came from
	plans   []*runplan.RunPlan

	matrices []*clusterrun.Matrix
	runs     []*clusterrun.Run
	alone    []*runplan.RunPlan // plans of runs
	names    []string           // of matrices, then of runs
}

// begin finds out what is asked for.
func (e *expedition) begin(c *cli.Context) error {
	cfg, err := e.access(c)
	if err != nil {
		return err
	}
	err = e.patiently(c.Context, func(ctx context.Context) (err error) {
		if e.cluster, err = clusterrun.Connect(ctx, cfg, ""); err != nil {
			return err
		}
		e.cluster.Modest = true
		e.parent, err = e.cluster.Parent(ctx, c.String("namespace"), c.String("pipelinerun"))
		return err
	})
	if err != nil {
		return err
	}
	if e.request, err = experiment.Read(e.parent.Params); err != nil {
		return step.Exit(contract.ExitUsage, err)
	}
	return nil
}

// access is the way to the cluster: a kubeconfig where there is one, then the token of a mounted Secret, then the account
// of the pod.
func (e *expedition) access(c *cli.Context) (*rest.Config, error) {
	dir := c.String("token-dir")
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	token := filepath.Join(dir, "token")
	if _, err := os.Stat(token); dir == "" || err != nil || host == "" {
		cfg, _, err := kubeConfig(c)
		return cfg, err
	}
	silence()
	return &rest.Config{Host: "https://" + net.JoinHostPort(host, port), BearerTokenFile: token, UserAgent: "bflow/" + step.Version,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "ca.crt")}}, nil
}

// Patience with an API server that is away: an upgrade of a control plane takes minutes.
const (
	outage     = 5 * time.Minute
	betweenTry = 2 * time.Second
)

// patiently does something again while the API server does not answer. What it does must be of no harm when it is done
// twice.
func (e *expedition) patiently(ctx context.Context, do func(context.Context) error) error {
	end := time.Now().Add(outage)
	for said := false; ; {
		err := do(ctx)
		var away *clusterrun.Unreachable
		passing := errors.As(err, &away) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) ||
			apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
		if !passing || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		if !said {
			said = true
			trouble(e.s, err)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(betweenTry):
		}
	}
}

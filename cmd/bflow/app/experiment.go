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

	"bflow.dev/bflow/cmd/bflow/clusterrun"
	"bflow.dev/bflow/cmd/bflow/experiment"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// experimentCommand is the task of Pipeline bflow-experiment.
func experimentCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:   "experiment",
		Usage:  "submit the experiment in the params of a PipelineRun, and wait for its verdict",
		Hidden: true, // it is for pods
		Description: "The task of Pipeline " + contract.Experiment + ". It reads the params of the PipelineRun that its pod belongs to, submits the runs as bflow run does, " +
			"waits for them and exits as they do. Ended because somebody cancels the PipelineRun, it cancels the runs.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "kubeconfig", Usage: "file with the way to the cluster (default: $KUBECONFIG, then ~/.kube/config, then --token-dir, then the account of the pod)"},
			&cli.StringFlag{Name: "token-dir", Usage: "folder of the Secret with the token of an account that may submit"},
			&cli.StringFlag{Name: "git-dir", Usage: "folder of the Secret with credentials of git servers"},
			&cli.StringFlag{Name: "pipelinerun", Usage: "PipelineRun whose params say what to run; needed"},
			&cli.StringFlag{Name: "taskrun", Usage: "TaskRun that this is"},
			&cli.StringFlag{Name: "namespace", Usage: "of the PipelineRun, and of the runs; needed"},
			&cli.StringFlag{Name: "verdict-result", Usage: "file for the verdict"},
			&cli.StringFlag{Name: "runs-result", Usage: "file for the names of the runs"},
			&cli.StringFlag{Name: "plan-hashes-result", Usage: "file for the hashes of their plans"},
		},
		Action: func(c *cli.Context) error {
			if c.String("pipelinerun") == "" || c.String("namespace") == "" {
				return step.Usagef("reading flags of \"experiment\": no PipelineRun says what to run; start Pipeline %s, whose task this is", contract.Experiment)
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

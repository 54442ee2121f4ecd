package app

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report/brief"
	"bflow.dev/bflow/runplan/contract"
	clusterrun "bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/tasks/mlflow"
	"bflow.dev/bflow/tasks/step"
)

// matrixCommand holds the tasks around the runs of a matrix.
func matrixCommand(s Streams) *cli.Command {
	flags := func(more ...cli.Flag) []cli.Flag {
		return append([]cli.Flag{
			&cli.StringFlag{Name: "kubeconfig", Usage: "path to the kubeconfig (default: $KUBECONFIG, then ~/.kube/config, then --token-dir, then the pod's service account)"},
			&cli.StringFlag{Name: "token-dir", Usage: "folder of the Secret with the token of a service account that may submit runs"},
			&cli.StringFlag{Name: "pipelinerun", Usage: "parent PipelineRun of the matrix; required"},
			&cli.StringFlag{Name: "pipelinerun-uid", Usage: "UID of the parent"},
			&cli.StringFlag{Name: "namespace", Usage: "namespace of the matrix; required"},
			&cli.StringFlag{Name: "experiment", Usage: "MLflow experiment"},
		}, more...)
	}
	return &cli.Command{
		Name: "matrix", Usage: "tasks that run before and after the runs of a matrix", Hidden: true, // they are for pods
		Subcommands: []*cli.Command{
			{Name: contract.MatrixBegin, Usage: "create the MLflow parent run of a matrix", Action: func(c *cli.Context) error { return matrixBegin(c, s) },
				Flags: flags(&cli.StringFlag{Name: "run-id-result", Usage: "file to write the id of the MLflow run to"})},
			{Name: contract.MatrixAggregate, Usage: "summarise the runs of a matrix", Action: func(c *cli.Context) error { return matrixAggregate(c, s) },
				Flags: flags(&cli.StringFlag{Name: "verdict-result", Usage: "file to write the verdict to"})},
			gatherCommand(s),
		},
	}
}

// groupOf is the MLflow run of a matrix. Its start is that of its task where nobody knows better.
func groupOf(c *cli.Context, start time.Time) (mlflow.Group, error) {
	if c.String("pipelinerun") == "" || c.String("namespace") == "" {
		return mlflow.Group{}, step.Usagef("reading flags of \"matrix\": --pipelinerun is required; this command is a task of a matrix that bflow run submitted")
	}
	return mlflow.Group{Experiment: c.String("experiment"), Name: c.String("pipelinerun"), ID: c.String("pipelinerun-uid"), Start: start}, nil
}

// trackingPatience is how long a tracking server may be away when a matrix begins: its runs are worth more than their place
// on that server.
const trackingPatience = time.Minute

// matrixBegin never fails for the sake of MLflow.
func matrixBegin(c *cli.Context, s Streams) error {
	g, err := groupOf(c, time.Now())
	if err != nil {
		return err
	}
	id := ""
	client, err := mlflow.NewClient(os.Getenv, trackingPatience)
	if client != nil {
		var info *mlflow.RunInfo
		if info, err = client.Begin(c.Context, g); info != nil {
			id = info.RunID
		}
	}
	if err != nil {
		fmt.Fprintf(s.Err, "warning: %v; the runs of the matrix will not be nested there\n", err)
	}
	return writeResult(c.String("run-id-result"), id)
}

func writeResult(path, text string) error {
	if path == "" {
		return nil
	}
	return durable.Replace(path, []byte(text))
}

// matrixAggregate leaves a page and a summary beside the parent, and ends the MLflow run.
func matrixAggregate(c *cli.Context, s Streams) error {
	if _, err := groupOf(c, time.Time{}); err != nil {
		return err
	}
	e := &expedition{s: s} // the way to the cluster, and patience with it, are those of an experiment's task
	cfg, err := e.access(c)
	if err != nil {
		return err
	}
	var a aggregate
	err = e.patiently(c.Context, func(ctx context.Context) error {
		cluster, err := clusterrun.Connect(ctx, cfg, "")
		if err != nil {
			return err
		}
		return a.read(ctx, cluster, c.String("namespace"), c.String("pipelinerun"))
	})
	if err != nil {
		return err
	}
	if err := writeResult(c.String("verdict-result"), a.summary.Verdict); err != nil {
		return err
	}
	g, err := groupOf(c, a.matrix.Parent.CreationTimestamp.UTC())
	if err != nil {
		return err
	}
	if err := a.track(c.Context, g); err != nil {
		fmt.Fprintf(s.Err, "warning: %v; the page is stored with the matrix anyway\n", err)
	}
	fmt.Fprintf(s.Err, "%s: %s: %s\n", a.matrix.Name(), a.summary.Verdict, a.summary.Counts)
	return e.patiently(c.Context, func(ctx context.Context) error {
		return a.cluster.PublishMatrix(ctx, a.matrix, a.summary, a.html)
	})
}

// aggregate is a matrix that is summed up.
type aggregate struct {
	cluster *clusterrun.Cluster
	matrix  *clusterrun.Matrix
	summary *matrixSummary
	html    []byte
}

func (a *aggregate) read(ctx context.Context, cluster *clusterrun.Cluster, namespace, name string) error {
	m, err := cluster.MatrixOf(ctx, namespace, name)
	if err != nil {
		return err
	}
	briefs, err := cluster.Briefs(ctx, m)
	if err != nil {
		return err
	}
	a.cluster, a.matrix = cluster, m
	if a.summary, err = summaryOf(m, briefs); err != nil {
		return err
	}
	a.html, err = pageOf(briefs)
	return err
}

// track pushes the page and the counts to MLflow and ends the run of the matrix there.
func (a *aggregate) track(ctx context.Context, g mlflow.Group) error {
	client, err := mlflow.NewClient(os.Getenv, 2*time.Minute)
	if client == nil || err != nil {
		return err
	}
	text, err := json.Marshal(a.summary)
	if err != nil {
		return fmt.Errorf("summarising the matrix: %w", err)
	}
	files := map[string][]byte{clusterrun.KeyMatrix: text}
	if a.html != nil {
		files[contract.FileReportHTML] = a.html
	}
	info, err := pushGroup(ctx, client, g, files, groupOutcome(a.summary.Counts, a.summary.Points, a.summary.ExitCode))
	if err != nil {
		return err
	}
	a.summary.Links = map[string]string{brief.LinkMLflow: client.Base + "/#/experiments/" + info.ExperimentID + "/runs/" + info.RunID}
	return nil
}

// pushGroup pushes what a matrix came to, with files by name, and ends its run.
func pushGroup(ctx context.Context, client *mlflow.Client, g mlflow.Group, files map[string][]byte, o mlflow.Outcome) (*mlflow.RunInfo, error) {
	dir, err := os.MkdirTemp("", "bflow-matrix-")
	if err != nil {
		return nil, fmt.Errorf("storing the page of the matrix: %w", err)
	}
	defer os.RemoveAll(dir)
	for name, text := range files {
		if err := durable.WriteFile(filepath.Join(dir, name), text); err != nil {
			return nil, err
		}
	}
	return client.Finish(ctx, g, dir, o)
}

// Package matrix is the tasks around the runs of a matrix on a cluster, which run in pods: its MLflow run is begun, the
// results are gathered and summed up.
package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/report/brief"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/runs/tracking"
	"bflow.dev/bflow/tasks/mlflow"
	"bflow.dev/bflow/tasks/step"
)

// Options say which matrix a task belongs to.
type Options struct {
	Parent, UID string // its PipelineRun
	Namespace   string
	Experiment  string // of MLflow
	Result      string // file for the result of the task, "" for none
}

// group is the MLflow run of a matrix. Its start is that of its task where nobody knows better.
func (o Options) group(start time.Time) (mlflow.Group, error) {
	if o.Parent == "" || o.Namespace == "" {
		return mlflow.Group{},
			step.Usagef("reading flags of \"matrix\": --pipelinerun is required; this command is a task of a " +
				"matrix that bflow run submitted")
	}
	return mlflow.Group{Experiment: o.Experiment, Name: o.Parent, ID: o.UID, Start: start}, nil
}

// beginTimeout is how long a tracking server may be away when a matrix begins: its runs are worth more than their place
// on that server.
const beginTimeout = time.Minute

// Begin makes the MLflow run that those of the matrix belong below. It never fails for the sake of MLflow.
func Begin(ctx context.Context, on runs.Console, o Options) error {
	g, err := o.group(time.Now())
	if err != nil {
		return err
	}
	id := ""
	client, err := mlflow.NewClient(os.Getenv, beginTimeout)
	if client != nil {
		var info *mlflow.RunInfo
		if info, err = client.Begin(ctx, g); info != nil {
			id = info.RunID
		}
	}
	if err != nil {
		fmt.Fprintf(on.Err, "warning: %v; the runs of the matrix will not be nested there\n", err)
	}
	return writeResult(o.Result, id)
}

func writeResult(path, text string) error {
	if path == "" {
		return nil
	}
	return durable.Replace(path, []byte(text))
}

// Aggregate sums the runs of a matrix up, leaves a page and a summary beside the parent, and ends the MLflow run.
// access is the way to the cluster.
func Aggregate(ctx context.Context, on runs.Console, access func() (*kube.Config, error), o Options) error {
	if _, err := o.group(time.Time{}); err != nil {
		return err
	}
	cfg, err := access()
	if err != nil {
		return err
	}
	var a aggregate
	err = cluster.Retry(ctx, on, func(ctx context.Context) error {
		c, err := cluster.Connect(ctx, cfg, "")
		if err != nil {
			return err
		}
		return a.read(ctx, c, o)
	})
	if err != nil {
		return err
	}
	if err := writeResult(o.Result, a.summary.Verdict); err != nil {
		return err
	}
	g, err := o.group(a.matrix.Parent.CreationTimestamp.UTC())
	if err != nil {
		return err
	}
	if err := a.track(ctx, g); err != nil {
		fmt.Fprintf(on.Err, "warning: %v; the page is stored with the matrix anyway\n", err)
	}
	fmt.Fprintf(on.Err, "%s: %s: %s\n", a.matrix.Name(), a.summary.Verdict, a.summary.Counts)
	return cluster.Retry(ctx, on, func(ctx context.Context) error {
		return a.cluster.Matrices().Publish(ctx, a.matrix, a.summary, a.html)
	})
}

// aggregate is a matrix that is summed up.
type aggregate struct {
	cluster *cluster.Cluster
	matrix  *cluster.Matrix
	summary *summary
	html    []byte
}

func (a *aggregate) read(ctx context.Context, c *cluster.Cluster, o Options) error {
	m, err := c.Matrices().Get(ctx, o.Namespace, o.Parent)
	if err != nil {
		return err
	}
	briefs, err := c.Matrices().Briefs(ctx, m)
	if err != nil {
		return err
	}
	a.cluster, a.matrix = c, m
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
	files := map[string][]byte{cluster.KeyMatrix: text}
	if a.html != nil {
		files[contract.FileReportHTML] = a.html
	}
	info, err := tracking.Push(ctx, client, g, files, tracking.OutcomeOf(a.summary.Counts, a.summary.Points,
		a.summary.ExitCode))
	if err != nil {
		return err
	}
	a.summary.Links = map[string]string{brief.LinkMLflow: client.Base + "/#/experiments/" + info.ExperimentID +
		"/runs/" + info.RunID}
	return nil
}

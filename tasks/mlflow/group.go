package mlflow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"bflow.dev/bflow/tasks/step"
)

// ParentTag is the tag by which MLflow shows a run below another one.
const ParentTag = "mlflow.parentRunId"

// VerdictTag is the tag that holds the word of a verdict, for people who search.
const VerdictTag = "verdict"

// Group is the run of a matrix, which those of its points belong below.
type Group struct {
	Experiment string
	Name       string // of the matrix
	ID         string // that no other matrix has
	Start      time.Time
}

// key finds the run of a group again.
func (g Group) key() string {
	sum := sha256.Sum256([]byte("matrix\x00" + g.Name + "\x00" + g.ID))
	return hex.EncodeToString(sum[:16])
}

// Begin makes the run of a group, or finds the one that an earlier try has made.
func (c *Client) Begin(ctx context.Context, g Group) (*RunInfo, error) {
	experiment, err := c.Experiment(ctx, clip(g.Experiment, 256))
	if err != nil {
		return nil, err
	}
	return c.CreateRun(ctx, experiment, clip(g.Name, 250), g.key(), g.Start, g.tags(nil))
}

func (g Group) tags(more map[string]string) []Pair {
	all := map[string]string{RunKeyTag: g.key(), "mlflow.runName": clip(g.Name, 250), "bflow.matrix": g.Name,
		"bflow.version":      step.Version,
		"mlflow.source.name": "bflow", "mlflow.source.type": "JOB"}
	maps.Copy(all, more)
	return pairs(all, 8000)
}

// Outcome is what a group came to.
type Outcome struct {
	Tags     map[string]string
	Metrics  map[string]float64
	End      time.Time
	ExitCode int
}

// Finish pushes what a group came to, with the files in dir, and ends its run.
func (c *Client) Finish(ctx context.Context, g Group, dir string, o Outcome) (*RunInfo, error) {
	r := &Replay{Schema: ReplaySchema, Experiment: clip(g.Experiment, 256), RunName: clip(g.Name, 250), RunKey: g.key(),
		Start: g.Start, End: o.End,
		Status: status(o.ExitCode), Tags: g.tags(o.Tags)}
	for _, name := range slices.Sorted(maps.Keys(o.Metrics)) {
		r.Points = appendFinite(r.Points, Point{Key: name, Value: o.Metrics[name], Timestamp: o.End.UnixMilli()})
	}
	var err error
	if r.Artifacts, err = artifacts(dir); err != nil {
		return nil, err
	}
	return c.Push(ctx, dir, r)
}

package mlflow

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// RunKeyTag is the tag by which a run is found again: creating one is not idempotent.
const RunKeyTag = "bflow.run_key"

// Statuses of a run.
const (
	Running  = "RUNNING"
	Finished = "FINISHED"
	Failed   = "FAILED"
	Killed   = "KILLED"
)

// Pair is a param or a tag.
type Pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Point is one value of a metric. Timestamp is in unix milliseconds.
type Point struct {
	Key       string  `json:"key"`
	Value     float64 `json:"value"`
	Timestamp int64   `json:"timestamp"`
	Step      int64   `json:"step"`
}

// RunInfo is what the server says of a run.
type RunInfo struct {
	RunID        string `json:"run_id"`
	ExperimentID string `json:"experiment_id"`
	Status       string `json:"status"`
	ArtifactURI  string `json:"artifact_uri"`
}

// RunData is what the server holds of a run; metrics are the latest of each key.
type RunData struct {
	Metrics []Point `json:"metrics"`
	Params  []Pair  `json:"params"`
	Tags    []Pair  `json:"tags"`
}

// ServerRun is a run as runs/get returns it.
type ServerRun struct {
	Info RunInfo `json:"info"`
	Data RunData `json:"data"`
}

// Experiment returns the id of the experiment called name, making it, or bringing it back, where needed.
func (c *Client) Experiment(ctx context.Context, name string) (string, error) {
	id, deleted, err := c.findExperiment(ctx, name)
	if is(err, http.StatusNotFound) {
		id, err = c.createExperiment(ctx, name)
	}
	if err != nil || !deleted {
		return id, err
	}
	err = c.post(ctx, "restoring an experiment", "experiments/restore", map[string]string{"experiment_id": id}, nil)
	if is(err, http.StatusNotFound) { // somebody else was faster
		return id, nil
	}
	return id, err
}

func (c *Client) findExperiment(ctx context.Context, name string) (id string, deleted bool, err error) {
	var out struct {
		Experiment struct {
			ID        string `json:"experiment_id"`
			Lifecycle string `json:"lifecycle_stage"`
		} `json:"experiment"`
	}
	err = c.get(ctx, "looking for an experiment", "experiments/get-by-name?experiment_name="+url.QueryEscape(name), &out)
	if err == nil && out.Experiment.ID == "" {
		err = fmt.Errorf("looking for experiment %q at %s: the answer names none, so it is not an MLflow server",
			name, c.Base)
	}
	return out.Experiment.ID, out.Experiment.Lifecycle == "deleted", err
}

func (c *Client) createExperiment(ctx context.Context, name string) (string, error) {
	var out struct {
		ID string `json:"experiment_id"`
	}
	err := c.post(ctx, "creating an experiment", "experiments/create", map[string]string{"name": name}, &out)
	if answer := new(APIError); errors.As(err, &answer) && answer.Code == "RESOURCE_ALREADY_EXISTS" {
		out.ID, _, err = c.findExperiment(ctx, name)
	}
	return out.ID, err
}

// FindRun returns the oldest living run tagged with key, or nil.
func (c *Client) FindRun(ctx context.Context, experiment, key string) (*RunInfo, error) {
	var out struct {
		Runs []ServerRun `json:"runs"`
	}
	query := map[string]any{
		"experiment_ids": []string{experiment}, "max_results": 100, "run_view_type": "ACTIVE_ONLY",
		"filter": "tags.`" + RunKeyTag + "` = '" + key + "'", "order_by": []string{"attributes.start_time ASC"},
	}
	if err := c.post(ctx, "looking for an earlier push", "runs/search", query, &out); err != nil || len(out.Runs) == 0 {
		return nil, err
	}
	return &out.Runs[0].Info, nil
}

// CreateRun makes a run, unless an earlier try that seemed to fail has made it.
func (c *Client) CreateRun(
	ctx context.Context, experiment, name, key string, start time.Time, tags []Pair,
) (*RunInfo, error) {
	body := map[string]any{"experiment_id": experiment, "run_name": name, "start_time": start.UnixMilli(), "tags": tags}
	patient := *c
	patient.Patience = 0 // a repetition must look first
	deadline := time.Now().Add(c.Patience)
	for tries := 1; ; tries++ {
		if run, err := c.FindRun(ctx, experiment, key); run != nil || err != nil {
			return run, err
		}
		var out struct {
			Run ServerRun `json:"run"`
		}
		err := patient.post(ctx, "creating a run", "runs/create", body, &out)
		if err == nil {
			return &out.Run.Info, nil
		}
		var answer *APIError
		if errors.As(err, &answer) && !answer.passing(tries) || ctx.Err() != nil || time.Now().After(deadline) {
			return nil, err
		}
		if err := c.Wait(ctx, backoff(tries)); err != nil {
			return nil, err
		}
	}
}

// Run returns what the server holds.
func (c *Client) Run(ctx context.Context, id string) (*ServerRun, error) {
	var out struct {
		Run ServerRun `json:"run"`
	}
	err := c.get(ctx, "reading the run back", "runs/get?run_id="+url.QueryEscape(id), &out)
	return &out.Run, err
}

// History returns every point of one metric.
func (c *Client) History(ctx context.Context, id, key string) ([]Point, error) {
	var out struct {
		Metrics []Point `json:"metrics"`
	}
	err := c.get(ctx, "reading a metric back",
		"metrics/get-history?run_id="+url.QueryEscape(id)+"&metric_key="+url.QueryEscape(key), &out)
	return out.Metrics, err
}

// End sets the status and the end of a run, and checks that the server took it: it ignores words it does not know.
func (c *Client) End(ctx context.Context, id, status string, end time.Time) error {
	body := map[string]any{"run_id": id, "status": status, "end_time": end.UnixMilli()}
	if err := c.post(ctx, "finishing the run", "runs/update", body, nil); err != nil {
		return err
	}
	run, err := c.Run(ctx, id)
	if err == nil && run.Info.Status != status {
		err = fmt.Errorf("finishing the run at %s: asked for status %s, it says %s", c.Base, status, run.Info.Status)
	}
	return err
}

// is reports whether err is an answer of that HTTP status.
func is(err error, status int) bool {
	var answer *APIError
	return errors.As(err, &answer) && answer.Status == status
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/runs/fetch"
	"bflow.dev/bflow/runs/local"
	"bflow.dev/bflow/tasks/step"
)

// Copies are the results of cluster runs that were fetched to this machine.
type Copies struct {
	Root func() (string, error) // folder of local runs, below which they lie
}

// copyMark is the file of a copy that says what it is one of. No run writes such a file.
const copyMark = "copy.json"

// origin is what copyMark holds.
type origin struct {
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Run       string `json:"run"`
	UID       string `json:"uid"`      // of the attempt that was fetched
	Complete  bool   `json:"complete"` // every file of a run that had ended
}

// dir is where the results of a cluster run lie once they are fetched.
func (c Copies) dir(run string) (string, error) {
	root, err := c.Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, local.CopiesDir, run), nil
}

// remove deletes the copy of a run.
func (c Copies) remove(run string) error {
	dir, err := c.dir(run)
	if err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// complete finds a copy that nothing can be added to, by the run's name or an unambiguous start of it.
func (c Copies) complete(name string) (string, bool) {
	folder, err := c.dir("")
	if err != nil {
		return "", false
	}
	names, err := local.Names(folder)
	if err != nil {
		return "", false
	}
	hits := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, name) })
	if slices.Contains(names, name) {
		hits = []string{name}
	}
	if len(hits) != 1 {
		return "", false
	}
	var of origin
	dir := filepath.Join(folder, hits[0])
	return dir, step.ReadJSON(filepath.Join(dir, copyMark), &of) == nil && of.Complete
}

// fetch brings the results of a run to this machine, or those that only accepts.
func (c Copies) fetch(ctx context.Context, on runs.Console, cluster *Cluster, run *Run,
	only func(string) bool,
) (string, error) {
	dir, err := c.dir(run.ID)
	if err != nil {
		return "", err
	}
	pr := run.Last()
	of := origin{Cluster: cluster.Name, Namespace: run.Namespace, Run: run.ID, UID: string(pr.UID)}
	var old origin
	if err := step.ReadJSON(filepath.Join(dir, copyMark), &old); err == nil && old.UID != of.UID {
		// a later attempt starts anew
		if err := os.RemoveAll(dir); err != nil {
			return "", fmt.Errorf("replacing the copy of an earlier attempt: %w", err)
		}
	}
	if old.UID == of.UID && old.Complete {
		noteFetched(ctx, on, cluster, run)
		return dir, nil
	}
	ended := pr.IsDone()
	if err := c.fetchInto(ctx, on, cluster, run, dir, only); err != nil {
		return "", err
	}
	of.Complete = only == nil && ended
	return dir, durable.WriteJSON(filepath.Join(dir, copyMark), of)
}

// noteFetched tells the cluster that it need not keep the volume for the sake of the results. A person who may not say
// so has them all the same.
func noteFetched(ctx context.Context, on runs.Console, cluster *Cluster, run *Run) {
	if err := cluster.MarkFetched(ctx, run, time.Now()); err != nil {
		fmt.Fprintf(on.Err, "warning: %v; the cluster keeps them\n", err)
	}
}

func (c Copies) fetchInto(ctx context.Context, on runs.Console, cluster *Cluster, run *Run, dir string,
	only func(string) bool,
) error {
	pr := run.Last()
	if len(pr.Status.ChildReferences) == 0 {
		return fmt.Errorf("fetching the results of %s: %w", run.ID, errNoResults(pr.IsDone()))
	}
	if why := pr.Annotations[contract.AnnotationVolumeDeleted]; why != "" &&
		pr.Annotations[contract.AnnotationResults] == "" {
		return fmt.Errorf("fetching the results of %s: its volume was deleted on %s", run.ID, why)
	}
	fmt.Fprintf(on.Err, "fetching the results of %s from cluster %s\n", run.ID, cluster.Name)
	if err := durable.MkdirAll(dir); err != nil {
		return fmt.Errorf("making the folder of the results: %w", err)
	}
	ended := pr.IsDone()
	if err := fetch.Run(ctx, cluster.api, run.Namespace, run.ID, dir, only); err != nil {
		return err
	}
	if only == nil && ended {
		noteFetched(ctx, on, cluster, run)
	}
	return nil
}

func errNoResults(ended bool) error {
	if ended {
		return errors.New("it ended before it started, so there are none")
	}
	return errors.New("it has not started; bflow status shows what it is waiting for")
}

// reportFiles are what the table and the page of a run need: small, whatever was measured.
func reportFiles(path string) bool {
	switch path {
	case contract.FileReport, contract.FileReportHTML, contract.FileVerdict, contract.FilePlan, contract.FileSummary:
		return true
	}
	return false
}

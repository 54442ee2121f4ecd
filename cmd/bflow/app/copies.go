package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/fetch"
	"bflow.dev/bflow/tasks/step"
)

// copiesDir is the folder, below that of local runs, with the results of cluster runs that were fetched.
const copiesDir = "cluster"

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

// copyDir is where the results of a cluster run lie once they are fetched.
func copyDir(c *cli.Context, run string) (string, error) {
	root, err := runsDir(c)
	if err != nil {
		return "", err
	}
	return filepath.Join(root, copiesDir, run), nil
}

// resultsDir is the folder with the results of a run, wherever it ran. Those of a cluster run are fetched once; only one
// that has not ended is fetched again.
func resultsDir(c *cli.Context, s Streams, name string) (string, error) {
	if !c.Bool("cluster") {
		if dir, err := runDir(c, name); err == nil {
			return dir, nil
		}
	}
	if dir, ok := completeCopy(c, name); ok && !c.Bool("local") {
		return dir, nil
	}
	p, err := locate(c, name)
	if err != nil || p.run == nil {
		return p.dir, err
	}
	return fetchCopy(c, s, p, nil)
}

// completeCopy finds a copy that nothing can be added to, by the run's name or an unambiguous start of it.
func completeCopy(c *cli.Context, name string) (string, bool) {
	root, err := runsDir(c)
	if err != nil || name == "" {
		return "", false
	}
	folder := filepath.Join(root, copiesDir)
	names, err := runNames(folder)
	if err != nil {
		return "", false
	}
	var hits []string
	for _, n := range names {
		if n == name {
			hits = []string{n}
			break
		}
		if strings.HasPrefix(n, name) {
			hits = append(hits, n)
		}
	}
	if len(hits) != 1 {
		return "", false
	}
	var of origin
	dir := filepath.Join(folder, hits[0])
	return dir, step.ReadJSON(filepath.Join(dir, copyMark), &of) == nil && of.Complete
}

// fetchCopy brings the results of a cluster run to this machine, or those that only accepts.
func fetchCopy(c *cli.Context, s Streams, p place, only func(string) bool) (string, error) {
	dir, err := copyDir(c, p.run.ID)
	if err != nil {
		return "", err
	}
	pr := p.run.Last()
	of := origin{Cluster: p.cluster.Name, Namespace: p.run.Namespace, Run: p.run.ID, UID: string(pr.UID)}
	var old origin
	if err := step.ReadJSON(filepath.Join(dir, copyMark), &old); err == nil && old.UID != of.UID { // a later attempt starts anew
		if err := os.RemoveAll(dir); err != nil {
			return "", fmt.Errorf("replacing the copy of an earlier attempt: %w", err)
		}
	}
	if old.UID == of.UID && old.Complete {
		noteFetched(c, s, p)
		return dir, nil
	}
	ended := pr.IsDone()
	if err := fetchInto(c, s, p, dir, only); err != nil {
		return "", err
	}
	of.Complete = only == nil && ended
	return dir, durable.WriteJSON(filepath.Join(dir, copyMark), of)
}

// noteFetched tells the cluster that it need not keep the volume for the sake of the results. A person who may not say so
// has them all the same.
func noteFetched(c *cli.Context, s Streams, p place) {
	if err := p.cluster.Fetched(c.Context, p.run, time.Now()); err != nil {
		fmt.Fprintf(s.Err, "warning: %v; the cluster keeps them\n", err)
	}
}

func fetchInto(c *cli.Context, s Streams, p place, dir string, only func(string) bool) error {
	if pr := p.run.Last(); len(pr.Status.ChildReferences) == 0 {
		return fmt.Errorf("fetching the results of %s: %w", p.run.ID, errNoResults(pr.IsDone()))
	}
	gone := p.run.Last().Annotations
	if why := gone[contract.AnnotationVolumeDeleted]; why != "" && gone[contract.AnnotationResults] == "" {
		return fmt.Errorf("fetching the results of %s: its volume was deleted on %s", p.run.ID, why)
	}
	fmt.Fprintf(s.Err, "fetching the results of %s from cluster %s\n", p.run.ID, p.cluster.Name)
	if err := durable.MkdirAll(dir); err != nil {
		return fmt.Errorf("making the folder of the results: %w", err)
	}
	ended := p.run.Last().IsDone()
	if err := fetch.Run(c.Context, p.cluster.Config, p.run.Namespace, p.run.ID, dir, only); err != nil {
		return err
	}
	if only == nil && ended {
		noteFetched(c, s, p)
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

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/kube"
	queuerun "bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Run is one run: its attempts in their order, at least one.
type Run struct {
	ID, Namespace string
	Attempts      []tektonv1.PipelineRun
}

// Last is the attempt that counts.
func (r *Run) Last() *tektonv1.PipelineRun { return &r.Attempts[len(r.Attempts)-1] }

// ours selects what the compiler wrote, so that no stranger's PipelineRun is ever taken for a run.
const ours = contract.LabelPlanHash

// Runs returns every run in namespace, newest first; in all namespaces where it is "".
func (c *Cluster) Runs(ctx context.Context, namespace string) ([]Run, error) {
	return c.runs(ctx, namespace, ours)
}

// RunsAlone are Runs without those of matrices, of which there may be thousands.
func (c *Cluster) RunsAlone(ctx context.Context, namespace string) ([]Run, error) {
	return c.runs(ctx, namespace, ours+",!"+contract.LabelMatrix)
}

// Runs are those of a matrix, as far as they have been made.
func (ms Matrices) Runs(ctx context.Context, m *Matrix) ([]Run, error) {
	return ms.c.runs(ctx, m.Namespace(), ours+","+contract.LabelMatrix+"="+m.Name())
}

func (c *Cluster) runs(ctx context.Context, namespace, labels string) ([]Run, error) {
	all, err := kube.List[tektonv1.PipelineRun](ctx, c.api, pipelineRuns(namespace, ""), kube.Labels(labels))
	if err != nil {
		return nil, fmt.Errorf("listing runs: %w", err)
	}
	runs := group(all)
	slices.SortStableFunc(runs, func(a, b Run) int {
		return b.Attempts[0].CreationTimestamp.Compare(a.Attempts[0].CreationTimestamp.Time)
	})
	return runs, nil
}

// group gathers attempts of the same run.
func group(all []tektonv1.PipelineRun) []Run {
	var runs []Run
	at := map[string]int{}
	for _, pr := range all {
		key := pr.Namespace + "/" + queuerun.ID(&pr)
		i, ok := at[key]
		if !ok {
			i = len(runs)
			at[key] = i
			runs = append(runs, Run{ID: queuerun.ID(&pr), Namespace: pr.Namespace})
		}
		runs[i].Attempts = append(runs[i].Attempts, pr)
	}
	for i := range runs {
		slices.SortStableFunc(runs[i].Attempts, func(a, b tektonv1.PipelineRun) int {
			return queuerun.Attempt(&a) - queuerun.Attempt(&b)
		})
	}
	return runs
}

// Find returns the run of a name, or of an unambiguous start of one, in one of namespaces; "" stands for all of them.
// Where those may not be listed it goes on with the next.
func (c *Cluster) Find(ctx context.Context, name string, namespaces ...string) (*Run, error) {
	var denied error
	for _, namespace := range namespaces {
		run, err := c.find(ctx, name, namespace)
		if err == nil || !apierrors.IsForbidden(err) {
			return run, err
		}
		denied = errors.Join(denied, err)
	}
	return nil, denied
}

func (c *Cluster) find(ctx context.Context, name, namespace string) (*Run, error) {
	all, err := c.Runs(ctx, namespace)
	if err != nil {
		return nil, err
	}
	var hits, names []string
	var hit *Run
	for i, r := range all {
		if r.ID == name || slices.ContainsFunc(r.Attempts, func(pr tektonv1.PipelineRun) bool { return pr.Name == name }) {
			return &all[i], nil
		}
		if strings.HasPrefix(r.ID, name) {
			hit, hits = &all[i], append(hits, r.ID)
		}
		names = append(names, r.ID)
	}
	if len(hits) == 1 {
		return hit, nil
	}
	return nil, &runs.NotFoundError{Name: name, Where: c.where(namespace), Why: runs.WhyNot(name, names, hits, "there")}
}

func (c *Cluster) where(namespace string) string {
	if namespace == "" {
		return "on cluster " + c.Name
	}
	return fmt.Sprintf("in namespace %s of cluster %s", namespace, c.Name)
}
